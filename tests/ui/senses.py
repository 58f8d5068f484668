"""What a page is to somebody who does not see it, cannot point, or sees it large: asked in the page itself."""

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "static_site/node_modules/axe-core/axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_FINDINGS = """async tags => {
    const {violations} = await axe.run(document, {runOnly: tags, resultTypes: ["violations"]});
    return violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(({target}) => target.join(" ")).join(", ")}`);
}"""
_FOCUSED = """() => {
    const node = document.activeElement;
    if (!node || node === document.body) return {name: "", ring: 0, seen: true};
    const drawn = [node, node.closest("label, .editor")].filter(Boolean).map(each => getComputedStyle(each));
    const ring = Math.max(...drawn.map(style => style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth)));
    const shown = node.matches("label input") ? node.closest("label") : node;
    const box = shown.getBoundingClientRect();
    const on = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
    const words = node.getAttribute("aria-label") || node.labels?.[0]?.textContent || node.textContent || "";
    return {name: words.trim().replace(/\\s+/g, " "), ring, seen: Boolean(on) && (shown.contains(on) || on.contains(shown))};
}"""
_SMALL = """least => {
    const shown = node => node.checkVisibility({visibilityProperty: true}) && !node.closest(".hidden, [inert]");
    const flows = node => getComputedStyle(node).display === "inline" || node.matches("button.link");
    const inSentence = node => node.matches("a, button") && flows(node) && node.closest("p, td, li");
    const targets = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")];
    const label = node => node.matches("[type=radio], [type=checkbox], [type=file]") && node.closest("label");
    const name = node => (node.getAttribute("aria-label") || node.textContent || node.placeholder || "").trim();
    return targets.filter(node => shown(node) && !inSentence(node))
        .map(node => ({node, box: (label(node) || node).getBoundingClientRect()}))
        .filter(({box}) => box.width < least - 0.5 || box.height < least - 0.5)
        .map(({node, box}) => `${node.tagName} ${name(node)} ${Math.round(box.width)}x${Math.round(box.height)}`);
}"""
_OVERLAPS = """() => {
    const words = "h1, h2, .button, .input, .tag, p, dt, dd, th, td";
    const aside = ".hidden, .editor, .lines, pre, .tray, .toasts, .bar, dialog";
    const boxes = [...document.querySelectorAll(`main :is(${words})`)]
        .filter(node => node.checkVisibility({visibilityProperty: true}) && !node.closest(aside))
        .map(node => ({node, box: node.getBoundingClientRect(), says: `${node.tagName} ${node.textContent.trim().slice(0, 30)}`}))
        .filter(({box}) => box.width > 0 && box.height > 0);
    const apart = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) <= 2
        || Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) <= 2;
    const kin = (one, other) => one.contains(other) || other.contains(one);
    return boxes.flatMap((one, at) => boxes.slice(at + 1)
        .filter(other => !kin(one.node, other.node) && !apart(one.box, other.box))
        .map(other => `${one.says} | ${other.says}`));
}"""
_CUT = """() => [...document.querySelectorAll("main :is(h1, h2, p, .button, .tag, th, td, dt, dd, label, code)")]
    .filter(node => node.checkVisibility({visibilityProperty: true}) && !node.closest(".hidden, .editor, pre, [role=region]"))
    .filter(node => node.clientWidth > 0 && node.scrollWidth > node.clientWidth + 1)
    .filter(node => node.matches(".button, .tag") || ["hidden", "clip"].includes(getComputedStyle(node).overflowX)
        && getComputedStyle(node).textOverflow !== "ellipsis")
    .map(node => `${node.tagName} ${node.textContent.trim().slice(0, 40)}`)"""


def findings(page: Page) -> list[str]:
    """What axe finds against WCAG 2.2 AA and good practice, each with the elements it means."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    return list(page.evaluate(_FINDINGS, _RULES))


class Focus:
    """The element that has the keyboard."""

    def __init__(self, page: Page) -> None:
        told = page.evaluate(_FOCUSED)
        self.name = str(told["name"])
        """What a screen reader would call it, roughly."""
        self.ring = float(told["ring"])
        """How thick the line around it is, in pixels."""
        self.seen = bool(told["seen"])
        """Whether nothing lies over it."""


def tab_to(page: Page, name: str, *, most: int = 60) -> Focus:
    """Press Tab until the element of a name that begins so has the focus; it and all before it must show that they have it."""
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = Focus(page)
        assert not focus.name or (focus.ring >= 2 and focus.seen), f"the focus on {focus.name!r} cannot be seen"
        if focus.name.startswith(name):
            return focus
    raise AssertionError(f"{name!r} is not reached by {most} presses of Tab")


def small_targets(page: Page, least: int) -> list[str]:
    """Everything to click or tap that is smaller; links in the middle of a sentence are not meant."""
    return list(page.evaluate(_SMALL, least))


def overlaps(page: Page) -> list[str]:
    """Pairs of words or controls that lie over each other."""
    return list(page.evaluate(_OVERLAPS))


def cut_off(page: Page) -> list[str]:
    """Words that their box does not show whole."""
    return list(page.evaluate(_CUT))


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
