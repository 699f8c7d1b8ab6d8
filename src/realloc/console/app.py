"""The console as a web application: routes to pages, logins, files; `Guard` stands around it."""

import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

from pyarrow import RecordBatch
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from realloc.base.errors import LedgerError, ReallocError, StoreError
from realloc.console import writes
from realloc.console.guard import Guard, RequestRefused, read_cookie
from realloc.console.pages import review, trust
from realloc.console.pages.constraints import constraints
from realloc.console.pages.item import item, what_if
from realloc.console.pages.items import csv_chunks, items, read_selection, write_parquet
from realloc.console.pages.overview import overview
from realloc.console.roles import COOKIE, SESSION_SECONDS, RoleTokens, Sessions
from realloc.console.screen import (
    Screen,
    Visit,
    render_screen,
    static,
    templates,
    versioned,
)
from realloc.console.source import ConsoleSource
from realloc.draw import Paragraph

Page = Callable[[Visit], Screen]
Write = Callable[[Visit], str]
Endpoint = Callable[[Request], Awaitable[Response]]

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
STATIC = ("console.css", "whatif.js", "review.js")
FOREVER = {"cache-control": "private, max-age=31536000, immutable"}
MOST_FIELDS = 500  # of an address or a form
PAGES: dict[str, Page] = {
    "/": overview,
    "/items": items,
    "/item": item,
    "/review": review.review,
    "/constraints": constraints,
    "/versions": trust.versions,
    "/monitor": trust.monitor,
    "/log": trust.log,
    "/evaluations": trust.evaluations,
}
WRITES: dict[str, Write] = {
    "/versions/rollback": writes.roll_back,
    "/review/decide": review.decide,
    "/review/bulk": review.decide_many,
    "/review/undo": review.undo,
}


def make_console(
    source: ConsoleSource, tokens: RoleTokens | None, hosts: frozenset[str]
) -> Guard:
    """The application of a store."""
    sessions = Sessions()
    desk = _Desk(source, tokens, sessions)
    routes = [Route(path, desk.show(page)) for path, page in PAGES.items()]
    routes += [
        Route(path, desk.change(write), methods=["POST"]) for path, write in WRITES.items()
    ]
    routes += [
        Route("/log", desk.show(trust.log), methods=["POST"]),
        Route("/items.csv", desk.csv),
        Route("/items.parquet", desk.parquet),
        Route("/whatif.json", desk.what_if),
        Route("/login", desk.login, methods=["GET", "POST"]),
        Route("/logout", desk.logout, methods=["POST"]),
        Route("/static/{name}", _static),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: desk.not_found,
            RequestRefused: desk.refused,
            ReallocError: desk.problem,
        },
    )
    return Guard(app, hosts, tokens, sessions)


class _Desk:
    """Endpoints over one store."""

    def __init__(
        self, source: ConsoleSource, tokens: RoleTokens | None, sessions: Sessions
    ) -> None:
        self.source = source
        self.tokens = tokens
        self.sessions = sessions

    def show(self, page: Page) -> Endpoint:
        """An endpoint that shows a page."""

        async def endpoint(request: Request) -> Response:
            visit = await self.visit(request)
            return await run_in_threadpool(lambda: self.render(visit, page(visit)))

        return endpoint

    def change(self, write: Write) -> Endpoint:
        """An endpoint that writes, then shows the page that it names."""

        async def endpoint(request: Request) -> Response:
            visit = await self.visit(request)
            address = await run_in_threadpool(write, visit)
            return RedirectResponse(address, 303)

        return endpoint

    async def csv(self, request: Request) -> Response:
        """The selection as CSV."""
        visit = await self.visit(request)
        chunks = csv_chunks(await run_in_threadpool(self._export, visit))
        headers = {"content-disposition": 'attachment; filename="items.csv"'}
        return StreamingResponse(chunks, media_type="text/csv", headers=headers)

    async def parquet(self, request: Request) -> Response:
        """The selection as Parquet."""
        visit = await self.visit(request)
        batches = await run_in_threadpool(self._export, visit)
        with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as file:
            path = Path(file.name)
        await run_in_threadpool(write_parquet, batches, path)
        return FileResponse(
            path, filename="items.parquet", background=BackgroundTask(path.unlink)
        )

    def _export(self, visit: Visit) -> Iterator[RecordBatch]:
        rows = self.source.rows(self.source.run(visit.text("run")))
        return rows.export(read_selection(visit, rows))

    async def what_if(self, request: Request) -> Response:
        """What the sliders ask."""
        visit = await self.visit(request)
        return JSONResponse(await run_in_threadpool(what_if, visit))

    async def login(self, request: Request) -> Response:
        """Take a token once; a cookie stands for it afterwards."""
        if self.tokens is None:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return self.login_page("", 200)
        if self.sessions.overwhelmed:
            return self.login_page("Too many wrong tokens. Wait a minute.", 429)
        member = self.tokens.find(_fields(await request.body()).get("token", ""))
        if member is None:
            self.sessions.fail()
            return self.login_page("This token is not known, or its last day is over.", 401)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            self.sessions.begin(member),
            max_age=SESSION_SECONDS,
            path="/",
            secure=True,
            httponly=True,
            samesite="strict",
        )
        return response

    async def logout(self, request: Request) -> Response:
        """Forget the cookie."""
        self.sessions.end(read_cookie(request.headers.get("cookie", "").encode("latin-1")))
        response = RedirectResponse("/login", 303)
        response.delete_cookie(
            COOKIE, path="/", secure=True, httponly=True, samesite="strict"
        )
        return response

    async def visit(self, request: Request) -> Visit:
        """Who asks for what; a form's fields stand before those of the address."""
        query = request.query_params
        if len(query.multi_items()) > MOST_FIELDS:
            raise RequestRefused(414, "The address has too many parts.")
        lists: dict[str, Sequence[str]] = {name: query.getlist(name) for name in query}
        form = _fields(await request.body()) if request.method == "POST" else {}
        return Visit(
            source=self.source,
            member=request.state.member,
            path=request.url.path,
            query={**query, **form},
            lists=lists,
            may_log_out=self.tokens is not None,
        )

    def render(self, visit: Visit, screen: Screen) -> Response:
        """A page as a response."""
        return HTMLResponse(render_screen(visit, screen), screen.status)

    def login_page(self, problem: str, status: int) -> Response:
        """Where a token goes."""
        page = templates().get_template("login.html")
        text = page.render(problem=problem, css=versioned("console.css"))
        return HTMLResponse(text, status)

    async def not_found(self, request: Request, problem: Exception) -> Response:
        """No page has this address, or not for this method."""
        status = problem.status_code if isinstance(problem, HTTPException) else 404
        text = "There is no such page. The menu lists all of them."
        return await self._say(request, "Not found", text, status)

    async def refused(self, request: Request, problem: Exception) -> Response:
        """A form or address that cannot be read."""
        status = problem.status if isinstance(problem, RequestRefused) else 400
        return await self._say(request, "This was refused", str(problem), status)

    async def problem(self, request: Request, problem: Exception) -> Response:
        """What cannot be shown is said in a sentence."""
        missing = isinstance(problem, LedgerError | StoreError)
        status = writes.FORBIDDEN if isinstance(problem, writes.NotAllowed) else 422
        return await self._say(
            request, "This cannot be shown", str(problem), 404 if missing else status
        )

    async def _say(self, request: Request, title: str, text: str, status: int) -> Response:
        screen = Screen(title=title, pieces=[Paragraph(text, "missing")], status=status)
        visit = Visit(self.source, request.state.member, request.url.path, {})
        visit = replace(visit, may_log_out=self.tokens is not None)
        return await run_in_threadpool(self.render, visit, screen)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        return Response("Not found.", 404)
    return Response(static(name), headers=FOREVER, media_type=KINDS[Path(name).suffix])


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; of several with one name the last."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except (UnicodeDecodeError, ValueError):
        raise RequestRefused(400, "Expected a form that can be read.") from None
    return dict(pairs)
