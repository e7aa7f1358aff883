// Page → this server → Colloquy: it knows who is logged in, holds the App's key, and passes conversations through.

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import express, { type NextFunction, type Request, type Response } from "express";
import { conversationsOf, createConversation, isOwn } from "./conversations.ts";
import { isPassword, isRefusedDemo, loginFor, userOf, WEEK_MS } from "./login.ts";

const { COLLOQUY_URL = "http://127.0.0.1:8080", COLLOQUY_APP = "support", COLLOQUY_KEY = "" } = process.env;
if (COLLOQUY_KEY === "") throw new Error("Set COLLOQUY_KEY: colloquy keys create --app support");

const { HOST = "127.0.0.1", PORT = "3000" } = process.env;

const app = express();
// A proxy on this machine tells the user's address.
app.set("trust proxy", "loopback");
app.use(express.static(`${import.meta.dirname}/public`));

// Other sites cannot act for your users: browsers name the origin of each request that changes something.
app.use((request, response, next) => {
  const { origin, host } = request.headers;
  const isForeign = origin !== undefined && URL.parse(origin)?.host !== host;
  if (request.method === "GET" || !isForeign) next();
  else response.status(403).json({ detail: "Send this request from this site's own pages." });
});
app.use(express.json({ limit: "256kb" }));

const cookie = { httpOnly: true, sameSite: "lax", secure: process.env["NODE_ENV"] === "production" } as const;

app.post("/login", async (request, response) => {
  const { user, password } = (request.body ?? {}) as Record<string, unknown>;
  if (typeof user !== "string" || typeof password !== "string" || !(await isPassword(user, password))) {
    response.status(401).json({ detail: "The name or the password is wrong." });
  } else if (isRefusedDemo(user, HOST)) {
    const remedy = "Replace the users in users.json by your own, or login.ts by your login.";
    response.status(403).json({ detail: `${user} is a demo user, whose password is public. ${remedy}` });
  } else response.cookie("login", loginFor(user), { ...cookie, maxAge: WEEK_MS }).sendStatus(204);
});

app.post("/logout", (_request, response) => {
  response.clearCookie("login", cookie).sendStatus(204);
});

app.use("/api", (request, response, next) => {
  response.locals["user"] = userOf(request.headers.cookie);
  if (response.locals["user"] !== null) next();
  else response.status(401).json({ detail: "Log in first." });
});

app.get("/api/sessions", (_request, response) => {
  response.json(conversationsOf(response.locals["user"]));
});
app.post("/api/sessions", (_request, response) => {
  response.status(201).json({ session_id: createConversation(response.locals["user"]) });
});

// All else is about one session. EventSource sends no headers, so the id may be in the query.
app.use("/api", (request, response, next) => {
  const { session } = request.query as Record<string, string>;
  const id = request.get("X-Session-Id") ?? `${session}`;
  response.locals["session"] = id;
  if (isOwn(response.locals["user"], id)) next();
  else response.status(404).json({ detail: "You have no such conversation." });
});

app.post("/api/chat", (request, response) => {
  const { message, user_state } = request.body ?? {};
  const chat = { message, user_state, app: COLLOQUY_APP, client_id: response.locals["user"] };
  return forward(request, response, "/api/chat", chat);
});
app.get("/api/state", (request, response) => forward(request, response, "/api/state"));
app.get("/api/updates", (request, response) => {
  const { include, last_event_id } = request.query as Record<string, string>;
  const query = new URLSearchParams({ ...(include && { include }), ...(last_event_id && { last_event_id }) });
  return forward(request, response, `/api/updates?${query.toString()}`);
});
app.post("/api/interrupt", (request, response) => forward(request, response, "/api/interrupt"));
app.post("/api/actions/:id", (request, response) => {
  const { decision, result } = request.body ?? {};
  const path = `/api/actions/${encodeURIComponent(request.params.id)}`;
  return forward(request, response, path, { decision, result });
});

/** Sends a request to Colloquy in the name of this App, and its answer to the browser as it arrives. */
async function forward(request: Request, response: Response, path: string, body?: object): Promise<void> {
  // The browser went away: close the connection to Colloquy too.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const headers = new Headers({
    "SERVICE-APP-KEY": COLLOQUY_KEY,
    "X-Session-Id": response.locals["session"],
    "X-Forwarded-For": request.ip ?? "",
  });
  for (const name of ["Accept", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer"]) {
    const value = request.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const { method } = request;
  const sent = { method, headers, body: JSON.stringify(body), signal: gone.signal };
  const answer = await fetch(`${COLLOQUY_URL}${path}`, sent);
  response.status(answer.status);
  for (const name of ["Content-Type", "ETag", "RateLimit", "Retry-After"]) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  // Neither compression nor a proxy in front may hold events back.
  response.set({ "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" }).flushHeaders();
  if (answer.body === null) response.end();
  // Reads no faster than the browser takes it.
  else await pipeline(Readable.fromWeb(answer.body), response);
}

app.use((error: Error & { status?: number }, _request: Request, response: Response, _next: NextFunction) => {
  if (response.headersSent || response.closed) return void response.destroy();
  const { status = 502 } = error;
  if (status >= 500) console.error(error);
  const detail = status < 500 ? error.message : "The assistant cannot be reached. Try again in a moment.";
  response.status(status).json({ detail });
});

const server = app.listen(Number(PORT), HOST, () => {
  const { port } = server.address() as { port: number };
  console.log(`Open http://localhost:${port}`);
});
