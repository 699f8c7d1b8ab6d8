"""Make docs/images/console_*.png: every screen of the console over a store of the synthetic world.

Fits a model on 400 units, decides on 600 rows, reviews some of them, and photographs each screen
with Debian's Chromium. Run: python docs/images/make_console.py (needs the extra dev and Chromium).
"""

import shutil
import socket
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import uvicorn
from playwright.sync_api import Page, sync_playwright

from realloc import Config, ReAlloc, World
from realloc.batch import Options, recommend_file
from realloc.console.app import make_console
from realloc.console.approvals import decide_rows
from realloc.console.roles import Member, read_role_tokens
from realloc.console.selection import RowSelection
from realloc.console.source import ConsoleSource
from realloc.decide.constraints.constraints import Constraints
from realloc.storage.store import Store

IMAGES = Path(__file__).parent
SEED = 4
TOKEN = "a-token-for-pictures"  # noqa: S105
SIZE = {"width": 1280, "height": 860}
SCREENS = {
    "overview": "/",
    "items": "/items?channel=coupon&sign=up",
    "item": "/item?row={row}",
    "review": "/review",
    "constraints": "/constraints?try=1&floor0=25&largest=10",
    "versions": "/versions?one=1&other=2",
    "monitor": "/monitor",
    "log": "/log",
    "evaluations": "/evaluations",
}


def make_store(root: Path) -> ConsoleSource:
    """A store with two versions and a run by each."""
    world = World("medium", seed=SEED)
    config = replace(Config.fast(), seed=SEED)
    rules = Constraints(floors={"ads": 0.15}, largest_move=0.15)
    store = Store(root / "store")
    first = world.sample(units=400, periods=4, seed=0)
    model = ReAlloc(config, quiet=True).fit(first)
    store.commit(model, first)
    for number in (1, 2):
        today = world.sample(units=600, periods=1, seed=10, first_day=f"2025-02-0{number}")
        path = root / f"today{number}.parquet"
        today.to_pandas().drop(columns="orders").to_parquet(path)
        options = Options(config=replace(config, constraints=rules), force=True)
        recommend_file(str(path), store.path, root / f"recs{number}.parquet", options)
        if number == 1:
            store.rollback(1)  # a second version, with the same model
    return ConsoleSource(store)


def serve(source: ConsoleSource, root: Path) -> str:
    """Start the console in this process; its address."""
    tokens = root / "tokens"
    tokens.write_text(f"{TOKEN} admin anna\n")
    tokens.chmod(0o600)
    app = make_console(source, read_role_tokens(tokens, "admin"), frozenset({"localhost"}))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
    threading.Thread(target=server.run, args=([listening],), daemon=True).start()
    time.sleep(1)
    return f"http://localhost:{listening.getsockname()[1]}"


def photograph(page: Page, address: str, row: int) -> None:
    """Log in, then every screen."""
    page.goto(f"{address}/")
    page.fill("input[name=token]", TOKEN)
    page.click("button")
    page.wait_for_selector("nav")
    for name, path in SCREENS.items():
        page.goto(address + path.format(row=row))
        page.wait_for_load_state("networkidle")
        page.screenshot(path=IMAGES / f"console_{name}.png", full_page=name == "item")


def main() -> None:
    """Everything."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Expected Chromium, but there is none: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = make_store(root)
        rows = source.rows(source.run())
        moved = [row["row"] for row in rows.page(RowSelection(reason="moved")).rows]
        decide_rows(source, rows, moved[:24], "approve", Member("anna", "admin"), "week 6")
        decide_rows(
            source, rows, moved[24:26], "reject", Member("rob", "admin"), "promo runs"
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            page = browser.new_page(viewport=SIZE)
            photograph(page, serve(source, root), moved[30])
            browser.close()


if __name__ == "__main__":
    main()
