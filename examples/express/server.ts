// Forwards conversations between the page and Colloquy. This server authenticates users and holds the App's key.

import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import express, { type NextFunction, type Request, type Response } from "express";
import { isPassword, isRefusedDemo, loginFor, userOf, WEEK_MS } from "./login.ts";

const { COLLOQUY_URL = "http://127.0.0.1:8080", COLLOQUY_APP = "support", COLLOQUY_KEY = "" } = process.env;
if (COLLOQUY_KEY === "") {
  throw new Error(
    "Set COLLOQUY_KEY: colloquy keys create --app support --scope chat --scope read --scope act_as",
  );
}

const { HOST = "127.0.0.1", PORT = "3000" } = process.env;

const app = express();
// Trust X-Forwarded-For of a proxy on this machine.
app.set("trust proxy", "loopback");
app.use(express.static(`${import.meta.dirname}/public`));
// The page's components: `<colloquy-chat>` and its styles.
const components = dirname(fileURLToPath(import.meta.resolve("@colloquy/ui/package.json")));
app.use("/components", express.static(join(components, "dist")));

/** Sends an error. Its `code` tells the page that the error is not a proxy's, and must not be retried. */
function refuse(response: Response, status: number, code: string, detail: string): void {
  response.status(status).json({ code, detail });
}

// Prevents cross-site request forgery: browsers send the origin with each request that changes something.
app.use((request, response, next) => {
  const { origin, host } = request.headers;
  const isForeign = origin !== undefined && URL.parse(origin)?.host !== host;
  if (request.method === "GET" || !isForeign) next();
  else refuse(response, 403, "origin_not_allowed", "Send this request from this site's own pages.");
});
app.use(express.json({ limit: "256kb" }));

const cookie = { httpOnly: true, sameSite: "lax", secure: process.env["NODE_ENV"] === "production" } as const;

app.post("/login", async (request, response) => {
  const { user, password } = (request.body ?? {}) as Record<string, unknown>;
  if (typeof user !== "string" || typeof password !== "string" || !(await isPassword(user, password))) {
    refuse(response, 401, "login_wrong", "The name or the password is wrong.");
  } else if (isRefusedDemo(user, HOST)) {
    const remedy = "Replace the users in users.json by your own, or login.ts by your login.";
    const detail = `${user} is a demo user, whose password is public. ${remedy}`;
    refuse(response, 403, "demo_user_refused", detail);
  } else response.cookie("login", loginFor(user), { ...cookie, maxAge: WEEK_MS }).sendStatus(204);
});

app.post("/logout", (_request, response) => {
  response.clearCookie("login", cookie).sendStatus(204);
});

/** Allowed requests, with the allowed names of query parameters and body fields. */
const REQUESTS = JSON.parse(readFileSync(`${import.meta.dirname}/requests.json`, "utf8")) as Record<
  string,
  readonly string[]
>;
const ROUTES = Object.entries(REQUESTS).map(
  ([request, names]) => [new RegExp(`^${request.replaceAll("ID", "[\\w-]+")}$`), names] as const,
);
/** Ignored names: this server sets App and user, and `session` is for `EventSource`, which has no headers. */
const IGNORED = ["app", "client_id", "session"];

app.use("/api", async (request, response) => {
  const user = userOf(request.headers.cookie);
  if (user === null) return refuse(response, 401, "login_required", "Log in first.");
  const { pathname, searchParams } = new URL(request.originalUrl, "http://localhost");
  const [, names] = ROUTES.find(([route]) => route.test(`${request.method} ${pathname}`)) ?? [];
  if (names === undefined)
    return refuse(response, 404, "route_not_found", "This server forwards no such request.");
  const body = request.body as object | undefined;
  const sent = [...searchParams.keys(), ...Object.keys(body ?? {})].filter((name) => !IGNORED.includes(name));
  const unknown = sent.find((name) => !names.includes(name));
  if (unknown !== undefined)
    return refuse(response, 400, "field_not_allowed", `This server does not forward "${unknown}".`);
  const session = request.get("X-Session-Id") ?? searchParams.get("session");
  for (const name of IGNORED) searchParams.delete(name);
  const isChat = pathname === "/api/chat";
  await forward(request, response, {
    path: `${pathname}?${searchParams.toString()}`,
    user,
    session,
    body: isChat ? { ...body, app: COLLOQUY_APP, client_id: undefined } : body,
  });
});

interface Forwarded {
  readonly path: string;
  readonly user: string;
  readonly session: string | null;
  readonly body: object | undefined;
}

/** Sends a request to Colloquy on behalf of the user, and streams the response to the browser. */
async function forward(request: Request, response: Response, forwarded: Forwarded): Promise<void> {
  const { path, user, session, body } = forwarded;
  // When the browser disconnects, close the connection to Colloquy.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const headers = new Headers({
    "SERVICE-APP-KEY": COLLOQUY_KEY,
    // The user who starts a conversation owns it.
    "Colloquy-Owner": `your-server ${encodeURIComponent(user)}`,
    "X-Forwarded-For": request.ip ?? "",
  });
  if (session !== null) headers.set("X-Session-Id", session);
  for (const name of ["Accept", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer"]) {
    const value = request.get(name);
    if (value !== undefined) headers.set(name, value);
  }
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const { method } = request;
  const sent = { method, headers, body: JSON.stringify(body), signal: gone.signal };
  const answer = await fetch(`${COLLOQUY_URL}${path}`, sent);
  response.status(answer.status);
  for (const name of ["Content-Type", "ETag", "Link", "RateLimit", "Retry-After"]) {
    const value = answer.headers.get(name);
    if (value !== null) response.setHeader(name, value);
  }
  // Compression and proxies must not buffer events.
  response.set({ "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" }).flushHeaders();
  if (answer.body === null) response.end();
  // `pipeline` applies back-pressure.
  else await pipeline(Readable.fromWeb(answer.body), response);
}

app.use((error: Error & { status?: number }, _request: Request, response: Response, _next: NextFunction) => {
  if (response.headersSent || response.closed) return void response.destroy();
  const { status = 502, message } = error;
  if (status < 500) return refuse(response, status, "request_invalid", message);
  console.error(error);
  refuse(response, status, "unreachable", "The assistant cannot be reached. Try again in a moment.");
});

const server = app.listen(Number(PORT), HOST, () => {
  const { port } = server.address() as { port: number };
  console.log(`Open http://localhost:${port}`);
});
