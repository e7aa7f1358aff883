// One of two nodes on one PostgreSQL stops while it runs a turn: requests to it are answered until it has
// ended, and other nodes continue the turn (ADR 26).

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePort, ServerProcess } from "../torture/harness/server-process.ts";
import { newSession, send } from "./black-box/client.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";
import { until } from "./service.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");

interface Node {
  readonly url: string;
  readonly process: ServerProcess;
  readonly directory: string;
}

describe.skipIf(await isWithoutPostgres())("a stopping node among others", () => {
  const postgres = usePostgres();
  let nodes: readonly [Node, Node];

  beforeAll(async () => {
    const environment = { COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    const start = async (): Promise<Node> => {
      const [directory, port] = [await mkdtemp(join(tmpdir(), "colloquy-stop-")), await findFreePort()];
      const process = new ServerProcess({ main: MAIN, directory, port, environment });
      await process.ready();
      return { url: `http://127.0.0.1:${port}`, process, directory };
    };
    nodes = [await start(), await start()];
  });
  afterAll(async () => {
    for (const { process, directory } of nodes) {
      await process.end("SIGKILL");
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("accepts chats, which others answer, and ends streams so that clients reconnect", async () => {
    const [stopping, other] = nodes;
    const long = newSession();
    expect(
      (await send(stopping.url, "POST", "/api/chat?message=count+to+400", { session: long })).status,
    ).toBe(200);
    const end = stopping.process.end("SIGTERM");
    await until(async () => (await send(stopping.url, "GET", "/readyz")).status === 503);
    const session = newSession();
    const chat = await send(stopping.url, "POST", "/api/chat?message=hello", { session });
    expect([chat.status, (chat.json() as Snapshot).is_processing]).toEqual([200, true]);
    const stream = await send(stopping.url, "GET", "/api/updates", {
      session,
      headers: { accept: "text/event-stream" },
    });
    expect([stream.status, stream.text]).toEqual([200, "retry: 2000\n\n"]);
    const still = (await send(stopping.url, "GET", "/api/state", { session: long })).json() as Snapshot;
    expect(still.is_processing).toBe(true);
    // Before the stopping node has ended: its end is not what lets others continue.
    await until(async () => {
      const { messages } = (await send(other.url, "GET", "/api/state", { session })).json() as Snapshot;
      return messages.at(-1)?.sender === "agent" && messages.at(-1)?.status === "complete";
    });
    expect((await send(other.url, "POST", "/api/interrupt", { session: long })).status).toBe(200);
    await end;
    expect(stopping.process.crash).toBeNull();
  });
});
