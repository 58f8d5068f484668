"""The end of a worker's log and how its process ended, as the worker reports it, to the reason a user reads."""

from typing import Any

import pytest
from tutti_worker.autopsy import how
from tutti_worker.log_lines import Lines
from tutti_worker.verdict import last_words

from chalicelib.contracts.job import Cause, ReasonCode
from chalicelib.domain.symptoms import diagnosed
from tests.cases.case import Case
from tests.world import World

CASES = ("fl-log-shm", "fl-log-cuda-oom", "fl-log-numpy-abi", "fl-log-module-missing")
SAYS = {
    "fl-log-shm": ("site-1", "shared memory", "num_workers=0"),
    "fl-log-cuda-oom": ("site-1", "GPU memory", "1.50 GiB"),
    "fl-log-numpy-abi": ("site-1", "torch", "numpy 1.x", "numpy 2.1.0"),
    "fl-log-module-missing": ("site-1", "albumentations"),
}
HINTS = {
    "fl-log-shm": "num_workers=0",
    "fl-log-cuda-oom": "batch_size",
    "fl-log-numpy-abi": "numpy<2",
    "fl-log-module-missing": "requirements/requirements.txt",
}


def reported(case: Case) -> Cause:
    """What the worker posts when its training process ended like this, having printed this."""
    lines = Lines()
    log = [line.text for line in (*lines.feed(case.bytes("client.log")), *lines.finish())]
    sentence = f"the training process of site-1 was ended by {how(case.json('exit.json')['exit_code'])}."
    return last_words(log, sentence, ReasonCode.PROCESS_KILLED, "site-1")


def ended(it: World, cause: Cause) -> Any:
    """The job of one worker after it has posted this cause."""
    job_id, tokens = it.running(shards=1)
    it.tell(tokens["site-1"], {"type": "failed", "cause": cause.model_dump(mode="json")}, seq=2)
    it.compute.everybody_leaves()
    from chalicelib.services import training

    training.release(job_id, it.steps)
    return it.show(job_id)


@pytest.mark.parametrize("id", CASES)
def test_the_job_ends_failed_with_the_class_the_words_and_the_hint(it: World, id: str) -> None:
    case = Case(id)
    job = ended(it, reported(case))
    assert (job["state"], job["reason"]["code"]) == ("FAILED", case.expect["reason"])
    assert all(word in job["reason"]["sentence"] for word in SAYS[id]), job["reason"]["sentence"]
    assert HINTS[id] in job["reason"]["advice"]


@pytest.mark.parametrize("id", CASES)
def test_the_same_words_in_an_exception_of_the_training_give_the_same_class(id: str) -> None:
    last = Case(id).text("client.log").strip().splitlines()[-1]
    cause = Cause(code=ReasonCode.TRAINING_RAISED, sentence=f"fl_train_model raised {last}", site="site-2", file="a.py", line=3)
    found = diagnosed(cause)
    assert (found.code, found.site, found.file, found.line) == (Case(id).expect["reason"], "site-2", "a.py", 3)


def test_the_sizes_torch_tells_are_in_the_sentence() -> None:
    said = (
        "fl_train_model ran out of memory: OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 15.77 GiB of which 523.12 MiB is free. Process 7 has 15.25 GiB memory in use."
    )
    found = diagnosed(Cause(code=ReasonCode.OUT_OF_MEMORY, sentence=said, site="site-1", round=1))
    assert found.sentence.startswith(
        "site-1, in round 2, ran out of GPU memory (2.00 GiB asked for, 15.77 GiB in all, 523.12 MiB free)"
    )


def test_a_loader_that_hides_its_bus_error_behind_another_exception_is_seen_through() -> None:
    evidence = (
        "RuntimeError: DataLoader worker (pid 61) is killed by signal: Bus error.",
        "The above exception was the direct cause of the following exception:",
        "RuntimeError: DataLoader worker (pid(s) 61) exited unexpectedly",
    )
    cause = Cause(code=ReasonCode.TRAINING_RAISED, sentence=f"fl_train_model raised {evidence[-1]}", evidence=evidence)
    assert diagnosed(cause).code is ReasonCode.SHARED_MEMORY


HANDLED = "ModuleNotFoundError: No module named 'apex'"
NOT_WHY = {
    "an import error the code got over before another exception": Cause(
        code=ReasonCode.TRAINING_RAISED,
        sentence="fl_train_model raised ValueError: no rows",
        evidence=(HANDLED, "During handling of the above exception, another exception occurred:", "ValueError: no rows"),
    ),
    "an import error printed before a kill": Cause(
        code=ReasonCode.PROCESS_KILLED,
        sentence="the training process of site-1 was ended by signal SIGKILL.",
        evidence=(HANDLED,),
    ),
    "a memory error of long ago": Cause(
        code=ReasonCode.PROCESS_KILLED, sentence="it ended.", evidence=("CUDA out of memory", *("step",) * 30)
    ),
    "a refused update that quotes it": Cause(code=ReasonCode.UPDATE_REFUSED, sentence=HANDLED),
    "memory of the machine, not of a GPU": Cause(code=ReasonCode.OUT_OF_MEMORY, sentence="site-1 ran out of memory."),
}


@pytest.mark.parametrize("cause", NOT_WHY.values(), ids=NOT_WHY.keys())
def test_what_was_survived_is_not_taken_for_the_cause(cause: Cause) -> None:
    assert diagnosed(cause) == cause
