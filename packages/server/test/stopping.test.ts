// A client can delay the end of the process by at most two seconds.

import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { ManualClock } from "./manual-clock.ts";
import { newId } from "./service.ts";

let clock: ManualClock;
let server: ColloquyServer;
let port: number;
let sockets: Socket[];

beforeEach(async () => {
  clock = new ManualClock();
  sockets = [];
  const environment = { HOST: "127.0.0.1", PORT: "0" };
  const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
  if (!loaded.ok) throw new Error("The configuration is wrong");
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  server = await buildServer(loaded.config, { clock, store, logger, onFatal });
  port = Number(new URL((await server.listen()).url).port);
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
});

async function send(text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

/** Stops the server while the clock advances; resolves when it has stopped. */
async function stop(): Promise<void> {
  let stopped = false;
  const stopping = server.stop({ graceMs: 0 }).then(() => (stopped = true));
  while (!stopped) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await stopping;
}

const head = (line: string, ...fields: string[]): string =>
  [line, "Host: localhost", ...fields, "", ""].join("\r\n");

async function answerOf(socket: Socket): Promise<string> {
  // A chunk may end within a character: decode them together.
  return Buffer.concat(await socket.toArray()).toString();
}

describe("stopping", () => {
  it.each([
    ["half a request line", "GET /healthz HT"],
    ["half a head", "GET /api/state HTTP/1.1\r\nHost: localhost\r\nX-Ses"],
    [
      "half a body",
      head("POST /api/chat HTTP/1.1", "Content-Length: 50", "Content-Type: application/json") + "{",
    ],
    ["a tunnel", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["nothing at all", ""],
  ])("is not delayed by a client that sent %s", async (_what, text) => {
    await send(text);
    // A request answered on a later connection proves that the server has read the earlier bytes.
    await answerOf(await send(head("GET /healthz HTTP/1.1", "Connection: close")));
    await expect(stop()).resolves.toBeUndefined();
  });

  it("answers waiting requests with the current session", async () => {
    const fields = [`X-Session-Id: ${newId()}`, "Prefer: wait=60", "Content-Length: 0"];
    const socket = await send(head("POST /api/chat?message=count+to+500 HTTP/1.1", ...fields));
    const answered = answerOf(socket);
    // Wait until the turn runs: then the chat is stored and its client is waiting.
    for (let seen = ""; !seen.includes("is_processing"); ) {
      const state = await send(head("GET /api/state HTTP/1.1", fields[0]!, "Connection: close"));
      seen = await answerOf(state);
    }
    await stop();
    expect(await answered).toMatch(/^HTTP\/1.1 200 OK[^]*"is_processing":true/);
  });

  it("lets a slow client receive its answer", async () => {
    const session = `X-Session-Id: ${newId()}`;
    const body = JSON.stringify({ message: "x".repeat(32_000) });
    const fields = [session, "Content-Type: application/json", `Content-Length: ${body.length}`];
    for (let n = 0; n < 11; n += 1) {
      const chat = await send(head("POST /api/chat HTTP/1.1", ...fields, "Connection: close") + body);
      await answerOf(chat);
    }
    const requests = head("GET /api/state HTTP/1.1", session).repeat(40);
    const slow = await send(requests);
    slow.pause();
    await once(slow, "readable");
    // The clock stands still: only the client's own speed ends this.
    const stopping = server.stop({ graceMs: 0 });
    const taken = answerOf(slow.resume());
    await stopping;
    const text = await taken;
    const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/);
    const bodies = answers.filter((answer) => answer.startsWith("HTTP/1.1 200 OK"));
    expect(bodies).not.toEqual([]);
    const lengths = bodies.map((answer) => Number(/content-length: (\d+)/.exec(answer)?.[1]));
    expect(bodies.map((answer) => Buffer.byteLength(answer.slice(answer.indexOf("\r\n\r\n") + 4)))).toEqual(
      lengths,
    );
  });
});
