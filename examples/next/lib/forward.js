import { refuse } from "./handlers.js";

/** Sends a request to Colloquy on behalf of the user, and streams the response to the browser. */
export async function forward(request, { path, user, session, body }) {
  const { COLLOQUY_URL = "http://127.0.0.1:8080", COLLOQUY_KEY } = process.env;
  if (!COLLOQUY_KEY) {
    throw new Error(
      "Set COLLOQUY_KEY: colloquy keys create --app support --scope chat --scope read --scope act_as",
    );
  }
  const headers = new Headers({
    "SERVICE-APP-KEY": COLLOQUY_KEY,
    // The user who starts a conversation owns it.
    "Colloquy-Owner": `your-server ${encodeURIComponent(user)}`,
  });
  if (session !== null) headers.set("X-Session-Id", session);
  // The proxy in front of Next must replace an X-Forwarded-For that browsers send.
  for (const name of [
    "Accept",
    "Idempotency-Key",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    "X-Forwarded-For",
  ]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const { method, signal } = request;
  let answer;
  try {
    // When the browser disconnects, `signal` closes the connection to Colloquy.
    answer = await fetch(`${COLLOQUY_URL}${path}`, { method, headers, body: JSON.stringify(body), signal });
  } catch {
    return refuse(502, "unreachable", "The assistant cannot be reached. Try again in a moment.");
  }
  // Compression and proxies must not buffer events.
  const passed = new Headers({ "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" });
  for (const name of ["Content-Type", "ETag", "Link", "RateLimit", "Retry-After"]) {
    const value = answer.headers.get(name);
    if (value !== null) passed.set(name, value);
  }
  // Next applies back-pressure.
  return new Response(answer.body, { status: answer.status, headers: passed });
}
