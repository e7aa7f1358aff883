// For React Native's engine, bundled as React Native does. The engine's command line has no network: `fetch` answers as the
// service does, and, as in React Native, without streams.

import { createClient } from "@colloquy/client";

const print = /** @type {any} */ (globalThis).print;

class Headers {
  constructor(/** @type {Record<string, string>} */ entries = {}) {
    this.entries = entries;
  }
  get(/** @type {string} */ name) {
    return this.entries[name] ?? null;
  }
}

class Response {
  constructor(/** @type {number} */ status, /** @type {unknown} */ body, type = "application/json") {
    this.status = status;
    this.ok = status < 300;
    this.headers = new Headers({ "content-type": type });
    this.json = JSON.stringify(body);
  }
  async text() {
    return this.json;
  }
}

/** As in React Native: without `reason` and `throwIfAborted`. */
class AbortSignal {
  constructor() {
    this.aborted = false;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }
  addEventListener(/** @type {string} */ _type, /** @type {() => void} */ listener) {
    this.listeners.add(listener);
  }
  removeEventListener(/** @type {string} */ _type, /** @type {() => void} */ listener) {
    this.listeners.delete(listener);
  }
}

class AbortController {
  constructor() {
    this.signal = new AbortSignal();
  }
  abort() {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    for (const listener of this.signal.listeners) listener();
  }
}

/** What `react-native-get-random-values` adds. */
const crypto = {
  getRandomValues: (/** @type {Uint8Array} */ bytes) => bytes.fill(7),
};

const ANSWERS = ["", "one ", "one two 🫖"];
/** @type {string[]} */
const asked = [];

/** @param {string} url @param {{ method: string, body?: string, headers: Record<string, string> }} request */
async function fetch(url, { method, body, headers }) {
  asked.push(`${method} ${url.replace("https://chat.example.com", "").replace(/\?.*/, "")}`);
  if (url.includes("/api/updates")) return new Response(200, "", "text/event-stream");
  const sent = asked.filter((request) => request === "POST /api/chat").length;
  const polls = sent === 0 ? 0 : asked.length - asked.lastIndexOf("POST /api/chat") - 1;
  const content = ANSWERS[Math.min(polls, 2)] ?? "";
  const isDone = sent > 0 && polls >= 2;
  const message = { created_at: "2026-01-01T00:00:00.000Z", status: "complete" };
  return new Response(200, {
    session_id: headers["X-Session-Id"],
    app: "default",
    model: "demo/assistant",
    title: "",
    user_state: null,
    status: sent === 0 || isDone ? "idle" : "processing",
    is_processing: sent > 0 && !isDone,
    last_event_id: `life-${sent + polls}`,
    system_events: [],
    pending_actions: [],
    messages:
      sent === 0
        ? []
        : [
            { ...message, id: "m1", sender: "user", content: JSON.parse(body ?? '{"message":"Hi"}').message },
            { ...message, id: "m2", sender: "agent", content, status: isDone ? "complete" : "streaming" },
          ],
  });
}

/** Calls back after as many steps of the engine, in each of which one `then` may run. */
function later(/** @type {number} */ steps, /** @type {() => void} */ callback) {
  if (steps === 0) callback();
  else setTimeout(() => later(steps - 1, callback), 0);
}

/**
 * The engine's command line runs timers at once, so the client gets a clock that runs the next due one when all that
 * follows from the last one is done.
 */
class Clock {
  constructor() {
    this.now = 0;
    /** @type {Set<{ due: number, callback: () => void }>} */
    this.timers = new Set();
    this.random = () => 0.5;
    this.onWake = () => () => undefined;
    this.after = (/** @type {number} */ ms, /** @type {() => void} */ callback) => {
      const timer = { due: this.now + ms, callback };
      this.timers.add(timer);
      later(300, () => this.runNext());
      return { stop: () => void this.timers.delete(timer) };
    };
  }

  runNext() {
    const due = Math.min(...[...this.timers].map((timer) => timer.due));
    const next = [...this.timers].find((timer) => timer.due === due);
    if (next === undefined) return;
    this.timers.delete(next);
    this.now = next.due;
    next.callback();
  }
}

Object.assign(globalThis, { Headers, Response, AbortController, crypto, fetch });

async function converse() {
  const session = createClient({ baseUrl: "https://chat.example.com", timing: new Clock() }).session();
  /** @type {string[]} */
  const events = [];
  const updates = session.updates();
  let connection = session.getConnection();
  await session.send("Hi");
  for await (const update of updates) {
    events.push(update.type);
    connection = session.getConnection();
    if (update.type === "state_changed" && update.status === "idle") break;
  }
  const { state, error } = connection;
  const texts = session.getSnapshot()?.messages.map(({ content }) => content);
  session.stop();
  print(
    JSON.stringify({
      state,
      code: error?.code,
      texts,
      events,
      streams: asked.filter((one) => one.includes("updates")).length,
    }),
  );
}

converse().catch((error) => print(JSON.stringify({ failed: String(error), stack: error.stack })));
