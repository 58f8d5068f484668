"""How the API holds under load: ``python -m benchmarks.load`` starts a stack of its own and prints a table of ratios.

Alone: one client, one request after the other. Paced: all visitors at once, each asking once a second, which is the fastest pace
the API itself asks for. Back to back: all visitors at once, each asking again with the last byte of an answer; 50 requests are
then in the queue at any moment, so an answer takes 50 times what the machine needs for one, whatever the server does: what can
be compared is how many answers a second come out.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.crowd import Tally, at, middle, one_by_one, together
from benchmarks.own_stack import own_stack
from benchmarks.routes import ROUTES
from benchmarks.visitors import invite

PACE_S = 1.0


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 when an answer was wrong."""
    asked = _parser().parse_args(arguments)
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tutti-load-"))) / "data"
        url = stack.enter_context(own_stack(data))
        visitors = invite(url, data, asked.visitors)
        one_by_one(url, visitors, 3)
        alone = one_by_one(url, visitors, 30)
        paced = together(url, visitors, asked.seconds, think_s=PACE_S)
        busy = together(url, visitors, asked.seconds, think_s=0)
    print("\n".join(table(alone, paced, busy, asked.seconds)))
    wrong = [*alone.wrong, *paced.wrong, *busy.wrong]
    print("\n".join(wrong[:10]), file=sys.stderr)
    return 1 if wrong else 0


def table(alone: Tally, paced: Tally, busy: Tally, seconds: float) -> list[str]:
    """A line for each route: its median alone in ms, and the rest as multiples of that."""
    lines = [f"{'route':12}{'alone p50':>10}{'paced p50':>10}{'paced p99':>10}{'busy p50':>10}{'busy p99':>10}"]
    for name, own, some, many in (
        *((route.name, alone.took[route.name], paced.took[route.name], busy.took[route.name]) for route in ROUTES),
        ("all", alone.every(), paced.every(), busy.every()),
    ):
        base = middle(own)
        ratios = (middle(some), at(some, 99), middle(many), at(many, 99))
        lines.append(f"{name:12}{base * 1000:8.1f}ms" + "".join(f"{each / base:9.1f}x" for each in ratios))
    rate = alone.answers / sum(alone.every())
    lines.append(
        f"answers a second: paced {paced.answers / seconds / rate:.2f}, busy {busy.answers / seconds / rate:.2f} x alone"
    )
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="How the API holds under load.")
    parser.add_argument("--visitors", type=int, default=50, metavar="N", help="how many at once (default: 50)")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S", help="how long each part takes (default: 30)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
