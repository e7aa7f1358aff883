"""Forwards conversations between the page and Colloquy. This server authenticates users and holds the App's key."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from login import IS_PRODUCTION, WEEK, is_password, is_refused_demo, login_for, user_of

COLLOQUY_APP = os.environ.get("COLLOQUY_APP", "support")
COLLOQUY_KEY = os.environ.get("COLLOQUY_KEY")
if not COLLOQUY_KEY:
    raise SystemExit("Set COLLOQUY_KEY: colloquy keys create --app support --scope chat --scope read --scope act_as")
HERE = Path(__file__).parent
COMPONENTS = Path(os.environ.get("COMPONENTS", HERE / "../../packages/ui/dist"))
# Allowed requests, with the allowed names of query parameters and body fields.
REQUESTS = json.loads((HERE / "requests.json").read_text())
ROUTES = [(re.compile(request.replace("ID", "[A-Za-z0-9_-]+")), names) for request, names in REQUESTS.items()]
# Ignored names: this server sets App and user, and `session` is for `EventSource`, which has no headers.
IGNORED = ["app", "client_id", "session"]

colloquy = httpx.AsyncClient(
    base_url=os.environ.get("COLLOQUY_URL", "http://127.0.0.1:8080"),
    # Each open stream needs a connection; httpx would stop at 100. Colloquy writes to a stream every 15 seconds.
    limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
    timeout=httpx.Timeout(10, read=90),
)
BODY_MAX_BYTES = 256 * 1024
COOKIE = {"httponly": True, "samesite": "lax", "secure": IS_PRODUCTION}


class Refusal(HTTPException):
    """An error. Its `code` tells the page that the error is not a proxy's, and must not be retried."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(status, detail)
        self.response = JSONResponse({"code": code, "detail": detail}, status)


class Login(BaseModel):
    user: str
    password: str


def from_own_page(request: Request) -> None:
    """Rejects changes that pages of other sites request: browsers send the origin with each of them."""
    origin = request.headers.get("origin")
    if request.method != "GET" and origin and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refusal(403, "origin_not_allowed", "Send this request from this site's own pages.")


class BoundedBodies:
    """Rejects bodies of more than 256 KiB, because a body is kept in memory."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > BODY_MAX_BYTES:
                raise Refusal(413, "body_too_large", "The body has more than 256 KiB.")
            return message

        await self.app(scope, receive_bounded, send)


# Disable FastAPI's documentation pages: they run scripts of a CDN on the origin of the login cookie.
app = FastAPI(dependencies=[Depends(from_own_page)], docs_url=None, redoc_url=None, openapi_url=None)
app.add_middleware(BoundedBodies)


@app.exception_handler(Refusal)
def refuse(_request: Request, refusal: Refusal) -> Response:
    return refusal.response


@app.exception_handler(RequestValidationError)
def refuse_invalid(_request: Request, error: RequestValidationError) -> Response:
    return Refusal(400, "request_invalid", str(error)).response


@app.get("/")
def page() -> FileResponse:
    return FileResponse(HERE / "public/index.html")


# The page's components: `<colloquy-chat>` and its styles.
app.mount("/components", StaticFiles(directory=COMPONENTS, check_dir=False))


@app.post("/login", status_code=204)
def log_in(request: Request, given: Login, response: Response) -> None:
    if not is_password(given.user, given.password):
        raise Refusal(401, "login_wrong", "The name or the password is wrong.")
    # The address of this server that the connection came in by.
    if is_refused_demo(given.user, request.scope["server"][0]):
        remedy = "Replace the users in users.json by your own, or login.py by your login."
        raise Refusal(403, "demo_user_refused", f"{given.user} is a demo user, whose password is public. {remedy}")
    response.set_cookie("login", login_for(given.user), max_age=WEEK, **COOKIE)


@app.post("/logout", status_code=204)
def log_out(response: Response) -> None:
    response.delete_cookie("login")


@app.api_route("/api/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def api(request: Request) -> Response:
    user = user_of(request.cookies.get("login", ""))
    if user is None:
        raise Refusal(401, "login_required", "Log in first.")
    path = request.url.path
    names = next((names for route, names in ROUTES if route.fullmatch(f"{request.method} {path}")), None)
    if names is None:
        raise Refusal(404, "route_not_found", "This server forwards no such request.")
    text = await request.body()
    try:
        body = json.loads(text) if text else None
        if not isinstance(body, dict | None):
            raise ValueError
    except ValueError:
        raise Refusal(400, "request_invalid", "The body is not a JSON object.")
    query = [pair for pair in request.query_params.multi_items() if pair[0] not in IGNORED]
    sent = [name for name, _ in query] + [name for name in body or {} if name not in IGNORED]
    unknown = next((name for name in sent if name not in names), None)
    if unknown is not None:
        raise Refusal(400, "field_not_allowed", f'This server does not forward "{unknown}".')
    session = request.headers.get("x-session-id") or request.query_params.get("session")
    if path == "/api/chat":
        body = {**(body or {}), "app": COLLOQUY_APP}
        body.pop("client_id", None)
    return await forward(request, f"{path}?{urlencode(query)}", user, session, body)


async def forward(request: Request, path: str, user: str, session: str | None, body: Any) -> StreamingResponse:
    """Sends a request to Colloquy on behalf of the user, and streams the response to the browser."""
    headers = {
        "SERVICE-APP-KEY": COLLOQUY_KEY,
        # The user who starts a conversation owns it.
        "Colloquy-Owner": f"your-server {quote(user, safe='')}",
        "X-Forwarded-For": request.client.host,
    }
    if session:
        headers["X-Session-Id"] = session
    for name in ["Accept", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer"]:
        if name in request.headers:
            headers[name] = request.headers[name]
    sent = colloquy.build_request(request.method, path, headers=headers, json=body)
    try:
        answer = await colloquy.send(sent, stream=True)
    except httpx.TransportError:
        raise Refusal(502, "unreachable", "The assistant cannot be reached. Try again in a moment.")

    async def chunks():
        # Applies back-pressure. When the browser disconnects, this generator is cancelled. Reading in a separate task
        # lets httpx close the connection to Colloquy nevertheless.
        stream, reading = answer.aiter_bytes(), None
        try:
            while True:
                reading = asyncio.ensure_future(anext(stream, None))
                chunk = await asyncio.shield(reading)
                if chunk is None:
                    return
                yield chunk
        finally:
            with anyio.CancelScope(shield=True):
                reading.cancel()
                await asyncio.wait([reading])
                await answer.aclose()

    # Compression and proxies must not buffer events.
    passed = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
    for name in ["Content-Type", "ETag", "Link", "RateLimit", "Retry-After"]:
        if name in answer.headers:
            passed[name] = answer.headers[name]
    return StreamingResponse(chunks(), status_code=answer.status_code, headers=passed)
