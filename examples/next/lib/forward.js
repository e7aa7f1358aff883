import { refuse } from "./handlers.js";

/** Sends a request to Colloquy in the name of this App, and its answer to the browser as it arrives. */
export async function forward(request, session, path, body) {
  const { COLLOQUY_URL = "http://127.0.0.1:8080", COLLOQUY_KEY } = process.env;
  if (!COLLOQUY_KEY) throw new Error("Set COLLOQUY_KEY: colloquy keys create --app support");
  const headers = new Headers({ "SERVICE-APP-KEY": COLLOQUY_KEY, "X-Session-Id": session });
  // X-Forwarded-For is that of the proxy in front of Next, which must replace what browsers send.
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
    // The signal: if the browser goes away, the connection to Colloquy is closed too.
    answer = await fetch(`${COLLOQUY_URL}${path}`, { method, headers, body: JSON.stringify(body), signal });
  } catch {
    return refuse(502, "The assistant cannot be reached. Try again in a moment.");
  }
  // Neither compression nor a proxy in front may hold events back.
  const passed = new Headers({ "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" });
  for (const name of ["Content-Type", "ETag", "RateLimit", "Retry-After"]) {
    const value = answer.headers.get(name);
    if (value !== null) passed.set(name, value);
  }
  // Next reads the body no faster than the browser takes it.
  return new Response(answer.body, { status: answer.status, headers: passed });
}
