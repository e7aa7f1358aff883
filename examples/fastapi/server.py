"""Page → this server → Colloquy: it knows who is logged in, holds the App's key, and passes conversations through."""

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx
from fastapi import Cookie, Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel

from conversations import conversations_of, create_conversation, is_own
from login import IS_PRODUCTION, WEEK, is_password, is_refused_demo, login_for, user_of

COLLOQUY_APP = os.environ.get("COLLOQUY_APP", "support")
COLLOQUY_KEY = os.environ.get("COLLOQUY_KEY")
if not COLLOQUY_KEY:
    raise SystemExit("Set COLLOQUY_KEY: colloquy keys create --app support")

colloquy = httpx.AsyncClient(
    base_url=os.environ.get("COLLOQUY_URL", "http://127.0.0.1:8080"),
    # Each open stream needs a connection; httpx would stop at 100. Colloquy writes to a stream every 15 seconds.
    limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
    timeout=httpx.Timeout(10, read=90),
)
COOKIE = {"httponly": True, "samesite": "lax", "secure": IS_PRODUCTION}


def from_own_page(request: Request) -> None:
    """Other sites cannot act for your users: browsers name the origin of each request that changes something."""
    origin = request.headers.get("origin")
    if request.method != "GET" and origin and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "Send this request from this site's own pages.")


async def current_user(login: str = Cookie("")) -> str:
    user = user_of(login)
    if user is None:
        raise HTTPException(401, "Log in first.")
    return user


async def own_session(user: str = Depends(current_user), x_session_id: str = Header(""), session: str = "") -> str:
    """EventSource sends no headers, so the id may be in the query."""
    session = x_session_id or session
    if not is_own(user, session):
        raise HTTPException(404, "You have no such conversation.")
    return session


class Login(BaseModel):
    user: str
    password: str


class Chat(BaseModel):
    message: str
    user_state: dict[str, Any] | None = None


class Decision(BaseModel):
    decision: str
    result: dict[str, Any] | None = None


# FastAPI's pages of documentation would run scripts of a CDN on the origin that has the login cookie.
app = FastAPI(dependencies=[Depends(from_own_page)], docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/")
def page() -> FileResponse:
    return FileResponse(Path(__file__).parent / "public/index.html")


@app.post("/login", status_code=204)
def log_in(request: Request, given: Login, response: Response) -> None:
    if not is_password(given.user, given.password):
        raise HTTPException(401, "The name or the password is wrong.")
    # The address of this server that the connection came in by.
    if is_refused_demo(given.user, request.scope["server"][0]):
        remedy = "Replace the users in users.json by your own, or login.py by your login."
        raise HTTPException(403, f"{given.user} is a demo user, whose password is public. {remedy}")
    response.set_cookie("login", login_for(given.user), max_age=WEEK, **COOKIE)


@app.post("/logout", status_code=204)
def log_out(response: Response) -> None:
    response.delete_cookie("login")


@app.get("/api/sessions")
async def list_sessions(user: str = Depends(current_user)) -> list[str]:
    return conversations_of(user)


@app.post("/api/sessions", status_code=201)
async def create_session(user: str = Depends(current_user)) -> dict[str, str]:
    return {"session_id": create_conversation(user)}


@app.post("/api/chat")
async def chat(request: Request, given: Chat, session: str = Depends(own_session), user: str = Depends(current_user)):
    body = given.dict(exclude_none=True) | {"app": COLLOQUY_APP, "client_id": user}
    return await forward(request, session, "/api/chat", body)


@app.get("/api/state")
async def state(request: Request, session: str = Depends(own_session)):
    return await forward(request, session, "/api/state")


@app.get("/api/updates")
async def updates(request: Request, session: str = Depends(own_session), include: str = "", last_event_id: str = ""):
    query = urlencode({"include": include, "last_event_id": last_event_id})
    return await forward(request, session, f"/api/updates?{query}")


@app.post("/api/interrupt")
async def interrupt(request: Request, session: str = Depends(own_session)):
    return await forward(request, session, "/api/interrupt")


@app.post("/api/actions/{action}")
async def decide(request: Request, action: str, given: Decision, session: str = Depends(own_session)):
    return await forward(request, session, f"/api/actions/{quote(action, safe='')}", given.dict(exclude_none=True))


async def forward(request: Request, session: str, path: str, body: dict | None = None) -> StreamingResponse:
    """Sends a request to Colloquy in the name of this App, and its answer to the browser as it arrives."""
    headers = {"SERVICE-APP-KEY": COLLOQUY_KEY, "X-Session-Id": session, "X-Forwarded-For": request.client.host}
    for name in ["Accept", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer"]:
        if name in request.headers:
            headers[name] = request.headers[name]
    sent = colloquy.build_request(request.method, path, headers=headers, json=body)
    try:
        answer = await colloquy.send(sent, stream=True)
    except httpx.TransportError:
        raise HTTPException(502, "The assistant cannot be reached. Try again in a moment.")

    async def chunks():
        # Reads no faster than the browser takes it. If it goes away, this is cancelled: reading in a task of its own lets
        # httpx close the connection to Colloquy even so.
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

    # Neither compression nor a proxy in front may hold events back.
    passed = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
    for name in ["Content-Type", "ETag", "RateLimit", "Retry-After"]:
        if name in answer.headers:
            passed[name] = answer.headers[name]
    return StreamingResponse(chunks(), status_code=answer.status_code, headers=passed)
