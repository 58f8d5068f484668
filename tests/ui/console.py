"""The console as a user drives it: by what is written on it."""

from playwright.sync_api import Locator, Page, expect
from tutti_fl import Client


class Console:
    """One tab of the console, and the same user's client, with which a test arranges and looks after."""

    def __init__(self, page: Page, url: str, client: Client) -> None:
        self.page, self.url, self.client = page, url, client

    def sign_in(self, code: str, route: str = "#/") -> None:
        """From the first load of the page at this route through the issuer's page and back."""
        self.page.goto(f"{self.url}/{route}")
        self.page.get_by_label("One-time code").fill(code)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: "/auth/" not in url and "code=" not in url)
        expect(self.heading()).to_be_visible()

    def go(self, route: str) -> None:
        """Go where a link to this route would lead: the page is not loaded anew."""
        self.page.evaluate("route => { location.hash = route }", route)

    def route(self) -> str:
        """The address after the origin."""
        return self.page.url.partition("#")[2]

    def heading(self) -> Locator:
        """The page's one h1."""
        return self.page.get_by_role("heading", level=1)

    def button(self, name: str) -> Locator:
        """The button of exactly this name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def link(self, name: str) -> Locator:
        """The link of exactly this name."""
        return self.page.get_by_role("link", name=name, exact=True)
