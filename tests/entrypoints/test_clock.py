"""The clock's door decides what a crash can cut and silence can hide."""

from tests.world import World


def test_a_worker_that_never_joined_is_named_at_the_start_deadline(world: World) -> None:
    job_id = world.launched()
    tokens = world.start_workers(job_id)
    for site in ("server", "site-1", "site-3"):
        world.tell(tokens[site], {"type": "joined"})
    world.clock.pause(899)
    for site in ("server", "site-1", "site-2", "site-3"):
        world.tell(tokens[site], {"type": "heartbeat"}, seq=2 if site != "site-2" else 1)
    world.tick(2)
    ending = world.show(job_id)["ending"]
    assert (ending["code"], ending["site"]) == ("worker_not_joined", "site-2")


def test_a_silent_worker_is_lost_after_the_heartbeat_timeout(world: World) -> None:
    job_id, _ = world.running()
    world.tick(601)
    assert world.show(job_id)["ending"]["code"] == "worker_silent"


def test_a_workflow_that_never_started_is_started(world: World) -> None:
    job_id = world.launched()
    world.workflow.statuses.clear()
    world.workflow.started.clear()
    world.tick(6)
    assert world.workflow.started == [job_id]


def test_a_job_whose_workflow_ended_without_closing_it_is_closed(world: World) -> None:
    job_id, _ = world.running()
    world.workflow.statuses[job_id] = "TIMED_OUT"
    world.compute.everybody_leaves()
    world.tick()
    assert world.show(job_id)["reason"]["code"] == "platform_error"


def test_a_running_job_whose_workflow_is_gone_is_closed(world: World) -> None:
    job_id, _ = world.running()
    world.workflow.statuses.clear()
    world.compute.everybody_leaves()
    world.tick()
    assert world.show(job_id)["state"] == "FAILED"


def test_what_is_wrong_with_one_job_keeps_nobody_from_the_others(world: World) -> None:
    broken, _ = world.running()
    other = world.launched(name="other", shards=1, user="bob")
    world.objects.refuse_puts_to("tutti-platform")
    world.workflow.statuses[broken] = "FAILED"
    world.workflow.statuses.pop(other)
    world.workflow.started.clear()
    world.compute.everybody_leaves()
    world.tick(6)
    assert world.workflow.started == [other]


def test_a_job_that_trained_to_its_end_is_finished_though_its_workflow_stumbled(world: World) -> None:
    job_id, tokens = world.running()
    job = world.app.jobs.get(job_id)
    world.objects.put(job.bucket, f"jobs/digits/model_out/{job_id}/GLOBAL_MODEL.pt", b"model")
    rounds = [{"type": "round_done", "round": n, "sites": {}} for n in range(5)]
    world.tell(tokens["server"], *rounds, {"type": "finished", "model_size": 5}, seq=2)
    world.workflow.statuses[job_id] = "FAILED"
    world.compute.everybody_leaves()
    world.tick()
    assert world.show(job_id)["state"] == "FINISHED"


def test_an_end_decided_before_a_crash_is_told_to_the_workflow_again(world: World) -> None:
    job_id, _ = world.running()
    world.call("POST", f"/jobs/{job_id}/cancel")
    world.workflow.failed.clear()
    world.tick()
    assert ("train-task", "cancelled_by_user") in world.workflow.failed


def test_workers_held_for_a_job_that_was_never_recorded_are_given_back(world: World) -> None:
    from chalicelib.contracts.offers import Requirements

    world.bucket()
    world.app.fleet.reserve("job-01aaaaaaaaaaaaaaaaaaaaaaaa", Requirements(), 2)
    world.tick()
    assert world.app.fleet.holders() == ()


def test_workers_held_for_a_launch_under_way_are_left_alone(world: World) -> None:
    from chalicelib.contracts.offers import Requirements

    world.bucket()
    job_id = world.app.ids.job_id()
    world.app.fleet.reserve(job_id, Requirements(), 2)
    world.tick()
    assert list(world.app.fleet.holders()) == [job_id]
