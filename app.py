"""The Chalice application: one register_blueprint line per door."""

from chalice.app import Chalice

from chalicelib.entrypoints import account, auth, events, files, health, jobs, steps, uploads, worker, workspaces

app = Chalice(app_name="tutti")
app.register_blueprint(auth.bp)
app.register_blueprint(health.bp)
app.register_blueprint(account.bp)
app.register_blueprint(workspaces.bp)
app.register_blueprint(uploads.bp)
app.register_blueprint(files.bp)
app.register_blueprint(jobs.bp)
app.register_blueprint(worker.bp)
app.register_blueprint(steps.bp)
app.register_blueprint(events.bp)
