"""The console in Debian's Chromium: every screen, keys, sliders, phone width, axe-core.

axe-core 4.14.1 lies in `vendor`, as npm gives it (MPL-2.0, for tests only).
"""

import hashlib
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from realloc.console.app import make_console
from realloc.console.approvals import read_approvals
from realloc.console.source import ConsoleSource
from realloc.storage.store import Store
from tests.console.conftest import HOSTS, NOW, TOKENS

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
SCREENS = (
    *("/", "/items?reason=moved", "/item?row=20", "/item?row=3", "/review", "/monitor"),
    *(
        "/constraints?try=1&frozen0=1",
        "/versions?one=1&other=2",
        "/log",
        "/evaluations",
        "/nowhere",
    ),
)
QUIET = ("--no-sandbox", "--disable-background-networking", "--disable-component-update")


@pytest.fixture(scope="module")
def served(made, tmp_path_factory):
    """A console with tokens on a port of its own, over a copy of the store."""
    from realloc.console.roles import read_role_tokens

    root = tmp_path_factory.mktemp("browser")
    shutil.copytree(made / "store", root / "store")
    path = root / "tokens"
    path.write_text("\n".join(f"{token} {role} {role}er" for role, token in TOKENS.items()))
    path.chmod(0o600)
    source = ConsoleSource(Store(root / "store", clock=lambda: NOW))
    app = make_console(source, read_role_tokens(path, "admin"), HOSTS)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    yield source, f"http://localhost:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(20)
    listening.close()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
        yield opened
        opened.close()


class Watched:
    """A logged-in page, everything it complained of and everything it asked for."""

    def __init__(self, browser, address, role, **settings) -> None:
        self.address = address
        self.complaints = []
        self.asked = []
        self.page = browser.new_context(**settings).new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{address}/")
        self.page.fill("input[name=token]", TOKENS[role])
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("nav.menu")

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "404" not in text:
            self.complaints.append(text)

    def visit(self, path: str):
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def close(self) -> None:
        self.page.context.close()
        assert (
            self.complaints == []
        )  # no violation of the content policy, no failing script
        assert not [url for url in self.asked if not url.startswith(self.address)]


def test_every_screen_is_clean_narrow_and_accessible(served, browser):
    """On a phone and on a desk: nothing from elsewhere, no violation, no sideways scrolling."""
    script = AXE.read_text(encoding="utf-8")
    assert hashlib.sha256(script.encode()).hexdigest() == AXE_SHA256
    phone = Watched(browser, served[1], "admin", viewport={"width": 390, "height": 800})
    for path in SCREENS:
        page = phone.visit(path)
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, path
        page.evaluate(script)
        found = page.evaluate(
            "axe.run({resultTypes: ['violations']}).then(done => done.violations"
            ".filter(one => ['serious', 'critical'].includes(one.impact))"
            ".map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == [], path
    phone.close()


def test_the_review_works_by_keys_alone(served, browser):
    source, address = served
    watched = Watched(browser, address, "review")
    page = watched.visit("/review")

    def card() -> str:
        return page.input_value("form[action='/review/decide'] input[name=row]")

    def press(key: str) -> None:
        with page.expect_navigation():
            page.keyboard.press(key)
        page.wait_for_load_state("networkidle")

    first = card()
    press("a")
    second = card()
    assert second != first
    press("r")
    run = source.run()
    verdicts = {n: one.verdict for n, one in read_approvals(source, run).items()}
    assert verdicts == {int(first): "approve", int(second): "reject"}
    press("u")
    assert list(read_approvals(source, run)) == [int(first)]
    here = card()
    press("j")
    assert card() != here
    press("k")
    assert card() == here
    page.keyboard.press("?")
    assert page.evaluate("document.activeElement.id") == "keys"
    press("e")
    assert "/item?" in page.url
    watched.close()


def test_sliders_answer_and_keep_what_is_kept(served, browser):
    watched = Watched(browser, served[1], "read")
    page = watched.visit("/item?row=20")
    before = page.inner_text("output strong")
    page.check("input[name=lock1]")
    kept = page.input_value("input[name=to1]")
    with page.expect_response(lambda response: "whatif.json" in response.url):
        page.fill("input[name=to0]", "30")
        page.keyboard.press("Tab")
    page.wait_for_function(
        f"document.querySelector('output strong').innerText != {before!r}"
    )
    values = [float(page.input_value(f"input[name=to{k}]")) for k in range(3)]
    assert page.input_value("input[name=to1]") == kept
    assert values[0] == 30.0
    assert abs(sum(values) - 100) < 0.2
    assert "Expected gain" in page.inner_text("output strong")
    assert "to0=30" in page.url
    watched.close()


def test_without_script_the_same_pages_work(served, browser):
    watched = Watched(browser, served[1], "review", java_script_enabled=False)
    page = watched.visit("/item?row=20")
    page.fill("input[name=to0]", "30")
    page.click("text=What would it bring?")
    assert "to0=30" in page.url
    page.goto(f"{served[1]}/review")
    before = page.input_value("form[action='/review/decide'] input[name=row]")
    page.click("button[value=approve]")
    after = page.input_value("form[action='/review/decide'] input[name=row]")
    assert after != before
    watched.close()


def test_a_cookie_goes_to_no_script(served, browser):
    watched = Watched(browser, served[1], "read")
    begun = time.monotonic()
    assert watched.page.evaluate("document.cookie") == ""
    (cookie,) = watched.page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert time.monotonic() - begun < 60
    watched.close()
