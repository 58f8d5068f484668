"""Numbers that are not finite, from a worker's event to the API's answer."""

import json
from typing import Any

from chalice.test import Client

from chalicelib.contracts.job import Warned
from tests.cases.case import Case
from tests.world import World

CASE = Case("fl-nan-loss")


def strict(text: str) -> Any:
    """JSON as a browser reads it."""

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def trained(it: World) -> str:
    """A job whose server has told the case's rounds, the numbers spelled as Python's json writes them."""
    job_id, tokens = it.running(shards=1)
    events = []
    for row in CASE.json("metrics.json"):
        result = {"accepted": True, "samples": 10, "metrics": {"avg_loss": row["avg_loss"]}}
        events.append({"type": "round_started", "round": row["round"]})
        events.append({"type": "progress", "round": row["round"], "metrics": {"avg_loss": row["avg_loss"]}})
        events.append({"type": "round_done", "round": row["round"], "sites": {row["client"]: result}})
    answer = it.tell(tokens["server"], *events, seq=2)
    assert (answer.status, answer.body["accepted_seq"]) == (200, 1 + len(events))
    return job_id


def raw(it: World, path: str) -> str:
    """The body of an answer as it goes over the wire."""
    from app import app

    with Client(app) as client:
        return str(client.http.get(path, headers={"Authorization": f"Bearer {it.token()}"}).body.decode())


def test_the_answers_are_strict_json_with_a_gap_where_a_number_was_not_finite(it: World) -> None:
    job_id = trained(it)
    for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/live", f"/jobs/{job_id}/rounds"):
        strict(raw(it, path))
    rounds = strict(raw(it, f"/jobs/{job_id}/rounds"))["rounds"]
    assert [one["metrics"]["site-1"]["avg_loss"] for one in rounds] == [0.9, None, None, None]
    assert [one["metrics"]["server"].get("avg_loss") for one in rounds] == [0.9, None, None, None]


def test_each_such_round_is_marked(it: World) -> None:
    job_id = trained(it)
    warned = [item.change for item in it.app.jobs.feed(job_id, after=0, limit=1000) if isinstance(item.change, Warned)]
    assert [change.sentence for change in warned if change.code == "metric_not_finite"] == [
        f"Round {number}: avg_loss of site-1 was not a finite number." for number in (2, 3, 4)
    ]
