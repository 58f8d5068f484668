"""The one page of the local issuer, and its style sheet."""

from html import escape
from http import HTTPStatus

from local_stack.answers import Answer

STYLE = """:root { color-scheme: light dark;
  --ink: #17202a; --ground: #f5f6f8; --card: #fff; --line: #b8c0cc; --act: #1652c4; --bad: #a4161a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebef; --ground: #12161c; --card: #1b2129;
    --line: #4a5563; --act: #7fa9ff; --bad: #ff9a9d; }
}
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 2rem; width: min(24rem, 90vw);
  box-sizing: border-box; }
h1 { font-size: 1.25rem; margin: 0 0 .5rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; box-sizing: border-box; padding: .6rem; font: 1.1rem ui-monospace, monospace; letter-spacing: .06em;
  border: 1px solid var(--line); border-radius: 8px; background: var(--ground); color: inherit; }
button { margin-top: 1rem; width: 100%; padding: .7rem; font: inherit; font-weight: 600; border: 0; border-radius: 8px;
  background: var(--act); color: var(--card); cursor: pointer; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
[role=alert] { color: var(--bad); }
small { display: block; margin-top: 1rem; }
"""


def code_page(action: str, *, problem: str = "", status: int = HTTPStatus.OK, form_targets: str = "") -> Answer:
    """Ask for the one-time code; ``problem`` says why the last one was not accepted."""
    alert = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    field = (
        '<label for="code">One-time code</label>'
        '<input id="code" name="code" required autofocus autocomplete="one-time-code" autocapitalize="characters" '
        'spellcheck="false" maxlength="40" placeholder="XXXX-XXXX-XXXX-XXXX">'
    )
    hint = (
        "<small>The code is printed in the terminal by <code>make up</code>, and <code>make code</code> prints another.</small>"
    )
    return _page("Sign in to Tutti", f"{alert}{_form(action, field, 'Sign in')}{hint}", status, form_targets)


def consent_page(action: str, user: str, *, form_targets: str = "") -> Answer:
    """Ask somebody who is signed in whether the command line may act for them."""
    told = f"<p>You are signed in as <strong>{escape(user)}</strong>. A program on this machine asks to act for you.</p>"
    field = '<input type="hidden" name="consent" value="yes">'
    return _page("Sign in the command line?", told + _form(action, field, "Continue"), HTTPStatus.OK, form_targets)


def problem_page(problem: str) -> Answer:
    """Say why a request cannot be answered; it is never sent on to an address it came with."""
    return _page("This sign-in request is not right", f'<p role="alert">{escape(problem)}</p>', HTTPStatus.BAD_REQUEST, "")


def signed_out_page() -> Answer:
    """Say that the session is over."""
    return _page("Signed out", "<p>You are signed out on this machine.</p>", HTTPStatus.OK, "")


def _form(action: str, fields: str, button: str) -> str:
    return f'<form method="post" action="{escape(action)}">{fields}<button>{button}</button></form>'


def _page(title: str, body: str, status: int, form_targets: str) -> Answer:
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="stylesheet" href="/auth/style.css"></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    # Browsers hold the redirect after a form against form-action too, hence the targets.
    policy = (
        "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action 'self' {form_targets}".strip()
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }
    return Answer.text(status, html, "text/html; charset=utf-8").with_headers(headers)
