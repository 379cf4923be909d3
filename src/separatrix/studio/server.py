"""The routes of the studio, and who may use them.

The server listens on 127.0.0.1 only. Its first address has a random token, which becomes a cookie
that other sites cannot send; requests with another Host or Origin are refused.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from separatrix import __version__
from separatrix.studio import looking
from separatrix.studio.commands import RefusedError, build_arguments, python_text, shell_text
from separatrix.studio.jobs import CommandRun, find_job, list_jobs, start_job
from separatrix.studio.projects import (
    Projects,
    check_name,
    file_in,
    list_files,
    read_settings,
    write_settings,
)

STATIC = Path(__file__).parent / "static"

MAX_UPLOAD = 500
"""Largest file that is taken, in megabytes; a larger table is named by its path."""

MOST_UPLOADS = 4
"""Files that arrive at a time."""

MAX_BODY = 4_000_000
"""Bytes of a request that is no file."""

SECONDS_BETWEEN_LOOKS = 0.3
"""Between two looks at a job that runs."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
PAGE_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
"""For pages of the user's files: they have an origin of their own, without the cookie."""

Handler = Callable[[Request], Awaitable[Response]]


class Studio:
    """What all routes share: the projects, the token, and how much may arrive.

    Parameters
    ----------
    folder : path
        Where projects are kept.
    token : str
    max_upload : int
        Largest file, in megabytes.
    """

    def __init__(self, folder: Any, token: str, max_upload: int = MAX_UPLOAD) -> None:
        self.projects = Projects(folder)
        self.token = token
        self.max_upload = max_upload
        self.uploading = 0


# Who may ask ----------------------------------------------------------------------------------


class Guard:
    """Refuse requests of other pages, and set the rules for browsers."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self.app, self.studio = app, studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))

        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = dict(message["headers"])
                headers.setdefault(b"content-security-policy", POLICY.encode())
                headers[b"x-content-type-options"] = b"nosniff"
                headers[b"referrer-policy"] = b"no-referrer"
                headers[b"cache-control"] = b"no-store"
                headers[b"cross-origin-resource-policy"] = b"same-origin"
                message = {**message, "headers": list(headers.items())}
            await send(message)

        await (refusal or self.app)(scope, receive, send_with_rules)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        name, _, port = host.partition(":")
        server = request.scope.get("server") or ("", None)
        if name not in ("127.0.0.1", "localhost") or (port and port != str(server[1])):
            return refuse("This studio answers on this machine only, by the address it printed.")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return refuse("Another page asked for this: the studio answers to its own page only.")
        if request.method not in ("GET", "HEAD") and origin is None:
            return refuse("This request does not say which page it comes from.")
        if _same(request.cookies.get("separatrix"), self.studio.token):
            return None
        if request.url.path == "/" and _same(request.query_params.get("token"), self.studio.token):
            response = RedirectResponse("/", status_code=303)
            response.set_cookie(
                "separatrix", self.studio.token, httponly=True, samesite="strict", path="/"
            )
            return response
        return refuse("Open the studio by the whole address it printed: the token is missing.")


def _same(one: str | None, other: str) -> bool:
    return one is not None and secrets.compare_digest(one.encode(), other.encode())


def refuse(why: str, code: int = 403) -> Response:
    """An answer that says why not."""
    return JSONResponse({"error": why}, status_code=code)


def answered(handler: Callable[[Studio, Request], Awaitable[Any]]) -> Callable[[Studio], Handler]:
    """A route from a function that returns plain data; errors become sentences."""

    def bind(studio: Studio) -> Handler:
        async def route(request: Request) -> Response:
            try:
                answer = await handler(studio, request)
            except RefusedError as error:
                return refuse(str(error), 400)
            except (ValueError, ImportError, MemoryError, OSError) as error:
                return refuse(_describe(error), 400)
            except ClientDisconnect:
                return PlainTextResponse("", status_code=499)
            return answer if isinstance(answer, Response) else JSONResponse(answer)

        return route

    return bind


def _describe(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{Path(error.filename).name}: {error.strerror}" if error.filename else error.strerror
        )
    return str(error) or type(error).__name__


async def _body(request: Request) -> dict[str, Any]:
    if int(request.headers.get("content-length") or 0) > MAX_BODY:
        raise RefusedError(f"A request may have {MAX_BODY} bytes.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise RefusedError(f"A request may have {MAX_BODY} bytes.")
        parts.append(part)
    try:
        body = json.loads(b"".join(parts) or b"{}")
    except (ValueError, RecursionError):
        raise RefusedError("The request is not JSON.") from None
    if not isinstance(body, dict):
        raise RefusedError("The request is not a JSON object.")
    return body


def _take(body: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = body.get(name, default)
    if not isinstance(value, kind):
        raise RefusedError(f"The request needs {name!r}, a {kind.__name__}.")
    return value


def _command_of(body: dict[str, Any]) -> tuple[str, list[str], dict[str, Any]]:
    arguments = _take(body, "arguments", list, [])
    if not all(isinstance(argument, str) for argument in arguments):
        raise RefusedError("Arguments are text.")
    return _take(body, "command", str), arguments, _take(body, "options", dict, {})


# Routes ---------------------------------------------------------------------------------------


@answered
async def home(studio: Studio, request: Request) -> Any:
    """The page."""
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


@answered
async def static(studio: Studio, request: Request) -> Any:
    """Script and style of the page."""
    name = request.path_params["name"]
    check_name(name)
    path = STATIC / name
    if not path.is_file():
        return refuse("There is no such file.", 404)
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    return FileResponse(path, media_type=kinds.get(path.suffix, "text/plain"))


@answered
async def state(studio: Studio, request: Request) -> Any:
    """Projects, limits, and what can be chosen anywhere."""
    return {
        "version": __version__,
        "folder": str(studio.projects.folder),
        "projects": studio.projects.names(),
        "max_upload": studio.max_upload,
        **await run_in_threadpool(looking.list_choices),
    }


@answered
async def create_project(studio: Studio, request: Request) -> Any:
    """Make a project by its name."""
    name = _take(await _body(request), "name", str)
    return {"name": studio.projects.create(name).name}


@answered
async def show_project(studio: Studio, request: Request) -> Any:
    """Files, options and commands of a project."""
    project = _project(studio, request)
    return {
        "name": project.name,
        "folder": str(project),
        "settings": read_settings(project),
        "files": list_files(project),
        "jobs": [job.describe() for job in list_jobs(project)[:50]],
    }


@answered
async def change_settings(studio: Studio, request: Request) -> Any:
    """Keep options of a project."""
    project, settings = _project(studio, request), await _body(request)
    if not all(isinstance(v, str | bool | int | float | list | None) for v in settings.values()):
        raise RefusedError("Options are text, numbers, switches or lists.")
    write_settings(project, settings)
    return read_settings(project)


@answered
async def upload(studio: Studio, request: Request) -> Any:
    """Take a file: the body of the request, as it is."""
    project, name = _project(studio, request), request.path_params["path"]
    if "/" in name:
        raise RefusedError("A file is taken by its name, without a folder.")
    target = file_in(project, name)
    limit = studio.max_upload * 1_000_000
    if int(request.headers.get("content-length") or 0) > limit:
        raise RefusedError(_too_large(studio))
    if studio.uploading >= MOST_UPLOADS:
        raise RefusedError(f"{MOST_UPLOADS} files are arriving: wait for one of them.")
    studio.uploading += 1
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    size = 0
    try:
        async with await anyio.open_file(part, "xb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise RefusedError(_too_large(studio))
                await file.write(chunk)
        part.replace(target)
    finally:
        studio.uploading -= 1
        part.unlink(missing_ok=True)
    return {"name": name, "size": size}


def _too_large(studio: Studio) -> str:
    return (
        f"A file may have {studio.max_upload} MB here. Type the path of a larger one instead, or "
        "start the studio with --max-upload."
    )


@answered
async def download(studio: Studio, request: Request) -> Any:
    """A file of a project; pages open in a frame that can reach nothing."""
    project = _project(studio, request)
    path = file_in(project, request.path_params["path"])
    if not path.is_file():
        return refuse(f"There is no file {path.name!r}.", 404)
    if path.suffix == ".html" and "save" not in request.query_params:
        headers = {"content-security-policy": PAGE_POLICY}
        return FileResponse(path, media_type="text/html; charset=utf-8", headers=headers)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


@answered
async def look(studio: Studio, request: Request) -> Any:
    """A description of a table: its first rows, columns, labels and oddities."""
    project, body = _project(studio, request), await _body(request)
    source, options = _take(body, "source", str), _take(body, "options", dict, {})
    return await run_in_threadpool(looking.look_at, project, source, options)


@answered
async def clean(studio: Studio, request: Request) -> Any:
    """Write a copy of a table without a fault."""
    project, body = _project(studio, request), await _body(request)
    source, options = _take(body, "source", str), _take(body, "options", dict, {})
    what = _take(body, "what", str)
    name = await run_in_threadpool(looking.clean, project, source, options, what)
    return {"name": name}


@answered
async def project_points(studio: Studio, request: Request) -> Any:
    """A first picture of the classes, while folds are computed."""
    project, body = _project(studio, request), await _body(request)
    source, options = _take(body, "source", str), _take(body, "options", dict, {})
    return await run_in_threadpool(looking.picture_rows, project, source, options)


@answered
async def describe_model(studio: Studio, request: Request) -> Any:
    """Classes and features of a model, for trying rows."""
    path = file_in(_project(studio, request), request.path_params["path"])
    return await run_in_threadpool(looking.describe_model, path)


@answered
async def predict(studio: Studio, request: Request) -> Any:
    """Classes and probabilities of rows that the page has, as names and values."""
    body = await _body(request)
    path = file_in(_project(studio, request), _take(body, "model", str))
    return await run_in_threadpool(looking.predict_rows, path, _take(body, "rows", list))


@answered
async def show_command(studio: Studio, request: Request) -> Any:
    """The command that the page would run, and the same in Python."""
    command, arguments, options = _command_of(await _body(request))
    words = await run_in_threadpool(build_arguments, command, arguments, options)
    return {"shell": shell_text(words), "python": python_text(command, arguments, options)}


@answered
async def start(studio: Studio, request: Request) -> Any:
    """Run a command in the project."""
    project = _project(studio, request)
    command, arguments, options = _command_of(await _body(request))
    job = await run_in_threadpool(start_job, project, command, arguments, options)
    return job.describe()


@answered
async def show_job(studio: Studio, request: Request) -> Any:
    """A command with its messages and its result."""
    return await run_in_threadpool(_job(studio, request).describe, whole=True)


@answered
async def change_job(studio: Studio, request: Request) -> Any:
    """Stop a command, or go on with it."""
    job, wish = _job(studio, request), request.path_params["wish"]
    if wish not in ("stop", "resume"):
        return refuse("A command can stop or resume.", 404)
    await run_in_threadpool(job.stop if wish == "stop" else job.start)
    return job.describe()


@answered
async def follow_job(studio: Studio, request: Request) -> Any:
    """Messages and finished folds of a command while it runs, as server-sent events."""
    job = _job(studio, request)

    async def events() -> AsyncIterator[str]:
        shown: dict[str, Any] = {}
        while True:
            status = await run_in_threadpool(job.status)
            news = await run_in_threadpool(looking.describe_run, job)
            news = {"status": status, **news}
            if news != shown:
                shown = news
                yield f"data: {json.dumps(news)}\n\n"
            if status != "running" or await request.is_disconnected():
                return
            await anyio.sleep(SECONDS_BETWEEN_LOOKS)

    return StreamingResponse(events(), media_type="text/event-stream")


def _project(studio: Studio, request: Request) -> Path:
    return studio.projects.find(request.path_params["project"])


def _job(studio: Studio, request: Request) -> CommandRun:
    return find_job(_project(studio, request), request.path_params["job"])


ROUTES: tuple[tuple[str, str, Callable[[Studio], Handler]], ...] = (
    ("GET", "/", home),
    ("GET", "/static/{name}", static),
    ("GET", "/api/state", state),
    ("POST", "/api/projects", create_project),
    ("POST", "/api/command", show_command),
    ("GET", "/api/projects/{project}", show_project),
    ("PUT", "/api/projects/{project}/settings", change_settings),
    ("PUT", "/api/projects/{project}/files/{path:path}", upload),
    ("GET", "/api/projects/{project}/files/{path:path}", download),
    ("POST", "/api/projects/{project}/look", look),
    ("POST", "/api/projects/{project}/clean", clean),
    ("POST", "/api/projects/{project}/points", project_points),
    ("GET", "/api/projects/{project}/models/{path:path}", describe_model),
    ("POST", "/api/projects/{project}/predict", predict),
    ("POST", "/api/projects/{project}/jobs", start),
    ("GET", "/api/projects/{project}/jobs/{job:int}", show_job),
    ("GET", "/api/projects/{project}/jobs/{job:int}/events", follow_job),
    ("POST", "/api/projects/{project}/jobs/{job:int}/{wish}", change_job),
)
"""Method, path and handler of everything that the page can ask for."""


def make_app(studio: Studio) -> Starlette:
    """The application.

    Parameters
    ----------
    studio : Studio
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        # finished work is kept: the commands go on when they are asked to
        for name in studio.projects.names():
            for job in list_jobs(studio.projects.find(name)):
                job.stop()

    routes = [Route(path, make(studio), methods=[method]) for method, path, make in ROUTES]
    return Starlette(
        routes=routes, middleware=[Middleware(Guard, studio=studio)], lifespan=lifespan
    )


def serve(
    folder: str, *, port: int = 0, max_upload: int = MAX_UPLOAD, started: Callable[[str], None]
) -> None:
    """Serve on 127.0.0.1 until Ctrl-C.

    Parameters
    ----------
    folder : path
        Where projects are kept.
    port : int
        0 takes a free one.
    max_upload : int
        Largest file, in megabytes.
    started : callable
        Called with the address, token included, once the server answers.
    """
    import uvicorn

    studio = Studio(folder, secrets.token_urlsafe(32), max_upload)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        raise ValueError(f"port={port}: {error.strerror}; choose another one") from None
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={studio.token}"
    config = uvicorn.Config(
        make_app(studio), log_level="warning", access_log=False, timeout_graceful_shutdown=1,
        server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    listening.listen(128)
    started(address)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
        server.run(sockets=[listening])
