"""The one page of the local issuer, and its style sheet."""

from html import escape
from http import HTTPStatus
from pathlib import Path

from local_stack.answers import Answer

FONTS = Path(__file__).resolve().parents[1] / "static_site" / "src" / "fonts"
FONT_NAMES = ("instrument-sans.woff2", "martian-mono.woff2")

STYLE = """@font-face { font-family: "Instrument Sans"; src: url("instrument-sans.woff2") format("woff2");
  font-weight: 400 700; font-display: swap; }
@font-face { font-family: "Martian Mono"; src: url("martian-mono.woff2") format("woff2");
  font-weight: 400 700; font-display: swap; }
:root { color-scheme: light dark; --paper: light-dark(#f5f6fb, #090d26); --sheet: light-dark(#ffffff, #10163a);
  --ink: light-dark(#141b57, #e9ecff); --ink-2: light-dark(#4d5587, #a5aedb); --rule: light-dark(#d2d7ea, #2a3268);
  --rule-2: light-dark(#7a83b0, #6f7abb); --mark: #ffe14d; --mark-ink: #141b57; --act: light-dark(#141b57, #ffe14d);
  --act-shadow: light-dark(#141b57, #7a6a14); --bad: light-dark(#b0163a, #ff8a9b); }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 16px; background: var(--paper);
  color: var(--ink); font: 15px/1.45 "Instrument Sans", system-ui, sans-serif; -webkit-font-smoothing: antialiased; }
main { width: min(400px, 100%); background: var(--sheet); border: 1px solid var(--rule); border-radius: 4px; padding: 26px; }
.brand { display: flex; align-items: center; gap: 10px; font-weight: 700; font-size: 19px; letter-spacing: -.03em; }
.brand ellipse { fill: currentColor; }
.brand .now { fill: var(--mark); stroke: currentColor; stroke-width: 1.3; }
.brand path { stroke: currentColor; opacity: .45; }
h1 { font-size: 27px; line-height: 1.08; letter-spacing: -.035em; font-weight: 650; margin: 22px 0 6px; }
p { margin: 0 0 14px; color: var(--ink-2); }
label { display: block; margin: 18px 0 6px; font-weight: 500; }
input { width: 100%; min-height: 48px; padding: 4px 12px; border: 1px solid var(--rule-2); border-radius: 3px;
  background: var(--sheet); color: inherit; text-transform: uppercase;
  font: 500 17px "Martian Mono", ui-monospace, monospace; letter-spacing: -.02em; }
input::placeholder { color: var(--ink-2); opacity: .75; }
[aria-invalid=true] { border-color: var(--bad); }
button { margin-top: 16px; width: 100%; min-height: 48px; font: inherit; font-size: 17px; font-weight: 650;
  background: var(--mark); color: var(--mark-ink); border: 1.5px solid var(--act); border-radius: 3px;
  box-shadow: 0 3px 0 var(--act-shadow); cursor: pointer; }
button:active { transform: translateY(2px); box-shadow: 0 1px 0 var(--act-shadow); }
:focus-visible { outline: 2px solid var(--act); outline-offset: 2px; }
a { color: var(--ink); font-weight: 500; text-underline-offset: 3px; }
[role=alert] { margin: 14px 0 0; padding-left: 12px; border-left: 4px solid var(--bad); color: var(--bad); }
small { display: block; margin-top: 18px; color: var(--ink-2); font-size: 13px; }
code { font: 500 .85em "Martian Mono", ui-monospace, monospace; letter-spacing: -.02em; white-space: nowrap; }
@media (forced-colors: active) { main, button, input { border: 1px solid ButtonText; } }
"""

_BRAND = """<div class="brand"><svg width="26" height="22" viewBox="0 0 26 22" aria-hidden="true">
<path d="M0 3.5h26M0 8.5h26M0 13.5h26M0 18.5h26"/><ellipse cx="6" cy="16" rx="3.6" ry="2.8" transform="rotate(-18 6 16)"/>
<ellipse cx="14" cy="11" rx="3.6" ry="2.8" transform="rotate(-18 14 11)"/>
<ellipse class="now" cx="22" cy="6" rx="3.4" ry="2.6" transform="rotate(-18 22 6)"/></svg>Tutti</div>"""


def code_page(action: str, *, problem: str = "", status: int = HTTPStatus.OK, form_targets: str = "") -> Answer:
    """Ask for the one-time code; ``problem`` says why the last one was not accepted."""
    alert = f'<p role="alert" id="problem">{escape(problem)}</p>' if problem else ""
    wrong = ' aria-invalid="true" aria-describedby="problem"' if problem else ' aria-describedby="hint"'
    field = (
        '<label for="code">One-time code</label>'
        '<input id="code" name="code" required autofocus autocomplete="one-time-code" autocapitalize="characters" '
        f'spellcheck="false" maxlength="40" placeholder="XXXX-XXXX-XXXX-XXXX"{wrong}>'
    )
    hint = (
        '<small id="hint">The code is printed in the terminal by <code>make up</code>; '
        "<code>make code</code> prints another.</small>"
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
    return _page(
        "Signed out",
        '<p>You are signed out on this machine. Drafts stay in this browser.</p><p><a href="/">Sign in again</a></p>',
        HTTPStatus.OK,
        "",
    )


def font(name: str) -> Answer:
    """A font of the console; the page does without where the console's sources are not there."""
    file = FONTS / name
    if not file.is_file():
        return Answer.error(HTTPStatus.NOT_FOUND, "not_found", f"there is no {name} here")
    return Answer(HTTPStatus.OK, (("Content-Type", "font/woff2"), ("Cache-Control", "max-age=86400")), file.read_bytes())


def _form(action: str, fields: str, button: str) -> str:
    return f'<form method="post" action="{escape(action)}">{fields}<button>{button}</button></form>'


def _page(title: str, body: str, status: int, form_targets: str) -> Answer:
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="stylesheet" href="/auth/style.css"></head>'
        f"<body><main>{_BRAND}<h1>{title}</h1>{body}</main></body></html>"
    )
    # Browsers hold the redirect after a form against form-action too, hence the targets.
    policy = (
        "default-src 'none'; style-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action 'self' {form_targets}".strip()
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }
    return Answer.text(status, html, "text/html; charset=utf-8").with_headers(headers)
