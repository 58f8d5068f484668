"""The wizard's first steps as a user goes through them."""

from collections.abc import Mapping

from playwright.sync_api import Locator, expect

from tests.ui.console import Console
from tests.ui.labels import LABELS

ORDER = ("name", "training", "federation", "model", "advanced", "validate", "launch")


def field(console: Console, label: str) -> Locator:
    """A field by exactly this label."""
    return console.page.get_by_label(label, exact=True)


def at(console: Console, step: str) -> Console:
    """The tab, once it shows this step."""
    expect(console.heading()).to_have_text(LABELS[step]["heading"])
    return console


def fresh(console: Console, name: str) -> Console:
    """Step 1 of a new wizard, with this name typed."""
    console.go("/")
    expect(console.heading()).to_have_text(LABELS["start"]["title"])
    console.go("/submit/name")
    field(at(console, "name"), "Name").fill(name)
    return console


def onward(console: Console, to: str, typed: Mapping[str, str] | None = None) -> Console:
    """Type into fields of the steps on the way and press Continue until this step is there."""
    waiting = dict(typed or {})
    while (step := console.route().partition("?")[0].rpartition("/")[2]) != to:
        for label in [label for label in waiting if field(console, label).count()]:
            field(console, label).fill(waiting.pop(label))
        following = ORDER[ORDER.index(step) + 1]
        console.button(f"Continue to {LABELS['steps'][ORDER.index(following)]}").click()
        at(console, following)
    return console


def parameter(console: Console, name: str) -> Locator:
    """The value of a hyperparameter."""
    return field(console, f"Value of {name}")


def added(console: Console, name: str, value: str) -> None:
    """One more hyperparameter, in the last row."""
    console.button("Add a parameter").click()
    console.page.get_by_placeholder("name").last.fill(name)
    console.page.get_by_placeholder("value").last.fill(value)


def view(console: Console, name: str) -> None:
    """Fields or JSON."""
    console.page.get_by_role("radio", name=name, exact=True).click()
