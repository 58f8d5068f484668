"""A job's life: what each event does, and that no order of events breaks it."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.contracts.job import (
    SERVER,
    Job,
    JobState,
    Metrics,
    Phase,
    PhaseChanged,
    ReasonCode,
    RoundEnded,
    StateChanged,
    Warned,
    WorkerState,
)
from chalicelib.contracts.worker import (
    FailedEvent,
    FinishedEvent,
    HeartbeatEvent,
    JoinedEvent,
    LogSegmentEvent,
    PhaseEvent,
    ProgressEvent,
    RoundDoneEvent,
    RoundStartedEvent,
    SiteResult,
    StuckEvent,
    ValidatedEvent,
    WarningEvent,
    WorkerEvent,
)
from chalicelib.domain import lifecycle
from chalicelib.domain.lifecycle import Step
from tests.builders import START, cause, job, later, running_job, server, worker


def take(a_job: Job, a_worker: WorkerState, *events: WorkerEvent) -> Step:
    step = Step(a_job, a_worker)
    for number, event in enumerate(events, start=a_worker.accepted_seq + 1):
        step = lifecycle.accept(step.job, step.worker, number, event, later(20))
    return step


def round_done(number: int = 0, **sites: SiteResult) -> RoundDoneEvent:
    return RoundDoneEvent(round=number, sites={site.replace("_", "-"): result for site, result in sites.items()})


def test_a_job_runs_once_the_server_and_every_worker_have_joined() -> None:
    almost = job(joined=2, server_joined=True)
    assert take(almost, worker(), JoinedEvent()).job.state is JobState.RUNNING


def test_a_job_stays_pending_while_a_worker_is_missing() -> None:
    assert take(job(joined=1, server_joined=True), worker(), JoinedEvent()).job.state is JobState.PENDING


def test_a_job_stays_pending_while_its_server_is_missing() -> None:
    assert take(job(joined=2), worker(), JoinedEvent()).job.state is JobState.PENDING


def test_a_worker_that_joins_twice_counts_once() -> None:
    assert take(job(), worker(), JoinedEvent(), JoinedEvent()).job.joined == 1


def test_a_phase_told_twice_is_one_change() -> None:
    told = worker(phase=Phase.JOINED)
    assert take(job(), told, JoinedEvent()).changes == take(job(), told, PhaseEvent(phase=Phase.JOINED)).changes == ()


def test_the_servers_address_is_kept_when_it_joins() -> None:
    assert take(job(), server(), JoinedEvent(address="10.0.0.1:8002")).job.server_address == "10.0.0.1:8002"


def test_an_event_number_seen_before_changes_nothing_but_the_time() -> None:
    known = worker(accepted_seq=5)
    step = lifecycle.accept(job(), known, 5, JoinedEvent(), later(9))
    assert (step.job, step.worker.last_seen) == (job(), later(9))


def test_a_worker_cannot_tell_the_rounds() -> None:
    event = round_done(0, site_1=SiteResult(accepted=True, samples=3))
    assert take(running_job(), worker(), event).job.rounds_done == 0


def test_a_round_beyond_the_last_is_not_believed() -> None:
    assert take(running_job(rounds=2), server(), round_done(2)).job.rounds_done == 0


def test_a_rounds_means_are_weighted_by_samples() -> None:
    event = round_done(
        0,
        site_1=SiteResult(accepted=True, samples=1, metrics={"loss": 1.0}),
        site_2=SiteResult(accepted=True, samples=3, metrics={"loss": 2.0}),
    )
    means = [c for c in take(running_job(), server(), event).changes if isinstance(c, Metrics) and c.site == SERVER]
    assert means[0].values == {"loss": 1.75}


def test_a_refused_update_is_named_with_its_reason() -> None:
    event = round_done(0, site_2=SiteResult(accepted=False, refused=cause(sentence="it holds NaN")))
    ended = [c for c in take(running_job(), server(), event).changes if isinstance(c, RoundEnded)]
    assert ended[0].refused == {"site-2": "it holds NaN"}


def test_a_metric_that_is_not_a_number_is_left_out_of_the_mean() -> None:
    event = round_done(0, site_1=SiteResult(accepted=True, samples=4, metrics={"loss": None}))
    means = [c for c in take(running_job(), server(), event).changes if isinstance(c, Metrics) and c.site == SERVER]
    assert means[0].values == {}


def test_a_lost_worker_is_survived_while_the_minimum_holds() -> None:
    step = take(running_job(), worker(), FailedEvent(cause=cause(ReasonCode.PROCESS_KILLED)))
    assert (step.job.ending, [c.code for c in step.changes if isinstance(c, Warned)]) == (None, ["worker_lost"])


def test_a_second_lost_worker_ends_the_job_with_the_first_cause() -> None:
    after_one = take(running_job(), worker("site-1"), FailedEvent(cause=cause(ReasonCode.OUT_OF_MEMORY))).job
    step = take(after_one, worker("site-2"), FailedEvent(cause=cause(ReasonCode.PROCESS_KILLED)))
    assert step.job.ending is not None
    assert (step.job.ending.code, step.job.ending.site) == (ReasonCode.OUT_OF_MEMORY, "site-1")


def test_a_worker_lost_before_all_have_joined_ends_the_job() -> None:
    step = take(job(), worker(), FailedEvent(cause=cause(ReasonCode.REQUIREMENTS_FAILED)))
    assert step.job.ending is not None
    assert step.job.ending.code is ReasonCode.REQUIREMENTS_FAILED


def test_a_server_that_reports_a_consequence_yields_to_the_first_cause() -> None:
    hurt = running_job(first_cause=cause(ReasonCode.TRAINING_RAISED, site="site-3"))
    step = take(hurt, server(), FailedEvent(cause=cause(ReasonCode.BELOW_MINIMUM)))
    assert step.job.ending is not None
    assert step.job.ending.code is ReasonCode.TRAINING_RAISED


def test_the_end_once_decided_is_not_decided_again() -> None:
    ending, _ = lifecycle.end(running_job(), cause(ReasonCode.CANCELLED_BY_USER))
    again, changes = lifecycle.end(ending, cause(ReasonCode.SERVER_LOST))
    assert (again, changes) == (ending, ())


def test_a_process_that_ends_without_a_word_is_named_with_its_signal() -> None:
    step = lifecycle.exited(Step(running_job(minimum=3), worker("site-2", phase=Phase.TRAINING)), -9, out_of_memory=False)
    assert step.job.ending is not None
    assert step.job.ending.sentence == "The process of site-2 ended by signal 9 while training."


def test_a_process_that_ran_out_of_memory_is_told_apart_from_a_kill() -> None:
    step = lifecycle.exited(Step(running_job(minimum=3), worker()), -9, out_of_memory=True)
    assert step.job.ending is not None
    assert step.job.ending.code is ReasonCode.OUT_OF_MEMORY


def test_an_exit_after_the_workers_goodbye_is_no_loss() -> None:
    assert lifecycle.exited(Step(running_job(), worker(done=True)), 0, out_of_memory=False).job.lost == 0


def test_a_silent_worker_is_lost_after_the_heartbeat_timeout() -> None:
    quiet = worker(last_seen=START)
    step = lifecycle.silent(Step(running_job(minimum=3, heartbeat_timeout_s=600), quiet), later(601))
    assert step.job.ending is not None
    assert step.job.ending.code is ReasonCode.WORKER_SILENT


def test_nobody_is_silent_for_the_time_in_which_nobody_listened() -> None:
    quiet = worker(last_seen=START)
    step = lifecycle.silent(Step(running_job(heartbeat_timeout_s=600), quiet), later(601), listening_since=later(590))
    assert step.changes == ()


def test_a_silent_worker_is_warned_about_once() -> None:
    quiet = worker(last_seen=START)
    first = lifecycle.silent(Step(running_job(), quiet), later(300))
    second = lifecycle.silent(Step(running_job(), first.worker), later(301))
    assert (len(first.changes), second.changes) == (1, ())


def test_a_worker_heard_again_may_be_warned_about_again() -> None:
    warned = worker(last_seen=START, silent_warned=True)
    assert take(running_job(), warned, HeartbeatEvent()).worker.silent_warned is False


def test_a_worker_heard_again_is_told_once() -> None:
    warned = worker(last_seen=START, silent_warned=True, phase=Phase.TRAINING)
    first = take(running_job(), warned, HeartbeatEvent())
    second = take(running_job(), first.worker, HeartbeatEvent())
    assert (first.changes, second.changes) == ((PhaseChanged(site="site-1", phase=Phase.TRAINING, detail="heard again"),), ())


def test_the_start_deadline_names_the_missing_worker_and_what_it_last_did() -> None:
    rows = (server(joined=True), worker("site-1", joined=True), worker("site-2", phase=Phase.DOWNLOADING, last_seen=START))
    found = lifecycle.missed_start(job(), rows, later(900))
    assert found is not None
    assert found.sentence == "site-2 had not joined after 900 s; it was last seen downloading."


def test_a_job_before_its_start_deadline_is_left_alone() -> None:
    assert lifecycle.missed_start(job(), (server(),), later(899)) is None


def test_time_in_which_the_platform_was_away_is_no_time_to_join_in() -> None:
    assert lifecycle.missed_start(job(), (server(),), later(5000), later(4200)) is None


def test_a_worker_missing_for_a_whole_start_after_the_platform_came_back_is_named() -> None:
    found = lifecycle.missed_start(job(), (server(),), later(5100), later(4200))
    assert found is not None
    assert found.site == "server"


def test_the_servers_goodbye_names_the_model() -> None:
    step = take(running_job(rounds_done=5), server(), FinishedEvent(model_size=12))
    assert (step.job.model_size, step.job.finishing_at is not None) == (12, True)


def test_closing_gives_a_cancelled_job_its_state() -> None:
    ending, _ = lifecycle.end(running_job(), cause(ReasonCode.CANCELLED_BY_USER))
    closed, changes = lifecycle.close(ending, later(99))
    assert (closed.state, changes) == (
        JobState.CANCELLED,
        (StateChanged(state=JobState.CANCELLED, sentence="it went wrong"),),
    )


def test_closing_forgets_the_task_tokens() -> None:
    closed, _ = lifecycle.close(running_job(server_token="s"), later(99))
    assert (closed.server_token, closed.train_token) == (None, None)


def test_a_job_closed_before_its_server_finished_is_not_called_finished() -> None:
    assert lifecycle.close(running_job(), later(99))[0].state is JobState.FAILED


SITES = (SERVER, "site-1", "site-2", "site-3")
rounds_ = st.integers(min_value=0, max_value=6)
values = st.dictionaries(st.sampled_from(["loss", "acc"]), st.none() | st.floats(allow_nan=False, allow_infinity=False))
results = st.builds(SiteResult, accepted=st.booleans(), samples=st.none() | st.integers(0, 9), metrics=values)
events = st.one_of(
    st.just(HeartbeatEvent()),
    st.builds(PhaseEvent, phase=st.sampled_from(list(Phase)), round=st.none() | rounds_),
    st.builds(ProgressEvent, round=rounds_, step=st.integers(1, 3), of=st.just(3), metrics=values),
    st.just(JoinedEvent(address="127.0.0.1:1")),
    st.builds(RoundStartedEvent, round=rounds_),
    st.builds(RoundDoneEvent, round=rounds_, sites=st.dictionaries(st.sampled_from(SITES[1:]), results)),
    st.builds(ValidatedEvent, round=rounds_, sites=st.just({"site-1": {"acc": 0.5}})),
    st.builds(LogSegmentEvent, number=rounds_, lines=st.just(1), bytes=st.just(1)),
    st.builds(WarningEvent, code=st.just("w"), sentence=st.just("s")),
    st.builds(StuckEvent, quiet_s=st.none() | st.floats(0, 1000)),
    st.builds(FinishedEvent, model_size=st.just(1)),
    st.builds(FailedEvent, cause=st.builds(cause, code=st.sampled_from(list(ReasonCode)))),
)
outside = st.sampled_from(["exit", "close", "silence"])
happenings = st.lists(st.tuples(st.sampled_from(SITES), st.integers(1, 30), events | outside))


@settings(max_examples=300, deadline=None)
@given(happenings)
def test_any_order_and_duplication_of_events_leaves_a_legal_job_and_an_ended_one_never_moves(
    story: list[tuple[str, int, WorkerEvent | str]],
) -> None:
    a_job, rows = job(), {site: worker(site, last_seen=START) for site in SITES}
    for moment, (site, number, event) in enumerate(story):
        before, now = a_job, START + timedelta(seconds=moment * 100)
        if event == "exit":
            step = lifecycle.exited(Step(a_job, rows[site]), -9, out_of_memory=False)
        elif event == "silence":
            step = lifecycle.silent(Step(a_job, rows[site]), now)
        elif event == "close":
            closed, _ = lifecycle.close(a_job, now)
            step = Step(closed, rows[site])
        else:
            assert not isinstance(event, str)
            step = lifecycle.accept(a_job, rows[site], number, event, now)
        a_job, rows[site] = step.job, step.worker
        assert lifecycle.is_legal(a_job)
        assert not before.state.ended or a_job == before
