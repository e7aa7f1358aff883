// A node that is asked to stop, seen from a balancer that knows nothing of readiness: nothing new comes to it, what it was asked is answered.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/server.ts";
import { isWithoutPostgres, PostgresServer } from "./postgres-server.ts";
import { newId } from "./service.ts";

const GRACE_MS = 20_000;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(await isWithoutPostgres())("a node that stops while others go on", () => {
  let postgres: PostgresServer;
  let server: ColloquyServer;
  let port: number;
  let stopping: Promise<void> | null;
  let sockets: Socket[];

  beforeAll(async () => {
    postgres = await PostgresServer.start();
  }, 60_000);
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    sockets = [];
    stopping = null;
    const url = postgres.url(await postgres.createDatabase());
    const loaded = await loadConfig({
      environment: { HOST: "127.0.0.1", PORT: "0", COLLOQUY_DATABASE_URL: url },
      workingDirectory: import.meta.dirname,
    });
    if (!loaded.ok) throw new Error("The configuration is wrong");
    const onFatal = (error: Error): never => {
      throw error;
    };
    server = await buildServer(loaded.config, { logger: SILENT, onFatal });
    port = Number(new URL((await server.listen()).url).port);
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await (stopping ?? server.stop({ graceMs: 0 }));
  });

  const stop = (): void => void (stopping ??= server.stop({ graceMs: GRACE_MS }));

  /** Sends a request on a connection of its own. */
  async function send(line: string, ...fields: string[]): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write([`${line} HTTP/1.1`, "Host: localhost", ...fields, "", ""].join("\r\n"));
    return socket;
  }

  /** All that comes until the connection is closed. */
  async function rest(socket: Socket): Promise<string> {
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    return text;
  }

  /** Reads until this has come. */
  async function heard(socket: Socket, what: string): Promise<void> {
    for (let text = ""; !text.includes(what); ) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      text += chunk.toString();
    }
    socket.pause();
  }

  /** A message whose answer takes two seconds, which its sender waits for. */
  const sendChat = (session: string): Promise<Socket> =>
    send("POST /api/chat?message=count+to+40", session, "Prefer: wait=30", "Content-Length: 0");

  async function untilStored(session: string): Promise<void> {
    const state = async () => await rest(await send("GET /api/state", session, "Connection: close"));
    await expect.poll(state).toContain("count to 40");
  }

  it("takes no connection any more from the first moment on, long before its turns have ended", async () => {
    const session = `X-Session-Id: ${newId()}`;
    await sendChat(session);
    await untilStored(session);
    stop();
    const late = connect(port, "127.0.0.1");
    sockets.push(late);
    const outcome = await new Promise((resolve) => {
      late.once("connect", () => resolve("connected"));
      late.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(outcome).toBe("ECONNREFUSED");
  });

  it("answers what it was asked before, when that is so far, and says that it was the last on its connection", async () => {
    const session = `X-Session-Id: ${newId()}`;
    const chat = await sendChat(session);
    await untilStored(session);
    stop();
    const answer = await rest(chat);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain(" 38 39 40");
    expect(answer).toContain('"is_processing":false');
  });

  it("ends streams with the time after which to come back, and closes connections that wait for a request, while its turns go on", async () => {
    const session = `X-Session-Id: ${newId()}`;
    const idle = await send("GET /api/state", session);
    await heard(idle, "is_processing");
    const stream = await send("GET /api/updates", session, "Accept: text/event-stream");
    await heard(stream, "retry:");
    const chat = await sendChat(session);
    await untilStored(session);
    const order: string[] = [];
    const ended = async (what: string, socket: Socket): Promise<string> => {
      const text = await rest(socket);
      order.push(what);
      return text;
    };
    stop();
    const [, streamed] = await Promise.all([
      ended("idle", idle),
      ended("stream", stream),
      ended("chat", chat),
    ]);
    expect(streamed).toMatch(/retry: 2000\n\n/);
    expect(order.at(-1)).toBe("chat");
  });
});
