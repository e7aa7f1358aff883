// Responses to a chat when the database fails during the chat. store/postgres/failing.test.ts covers the
// store; this file covers the whole service.

import { AdminOverview, type Message } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { useOwnPostgres } from "./use-postgres.ts";
import { newId } from "./service.ts";
import { TcpProxy, type FromClient, type Link } from "./tcp-proxy.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

const ADMIN_KEY = "failing-database-admin-key";

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: { readonly code?: string; readonly detail?: string; readonly messages?: readonly Message[] };
}

describe.skipIf(await isWithoutPostgres())("a chat on a failing database", () => {
  const database = useOwnPostgres();
  let proxy: TcpProxy;
  let server: ColloquyServer;
  let url: string;
  let id: string;

  beforeEach(async () => {
    proxy = await TcpProxy.start(database.port);
    const direct = database.url(await database.createDatabase());
    const environment = {
      HOST: "127.0.0.1",
      PORT: "0",
      COLLOQUY_ADMIN_KEY: ADMIN_KEY,
      COLLOQUY_DATABASE_URL: direct.replace(`:${database.port}/`, `:${proxy.port}/`),
    };
    const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
    if (!loaded.ok) throw new Error("The configuration is wrong");
    const onFatal = (error: Error): never => {
      throw error;
    };
    server = await buildServer(loaded.config, { logger: SILENT, onFatal });
    ({ url } = await server.listen());
    id = newId();
  });
  afterEach(async () => {
    proxy.fromClient = null;
    await server.stop({ graceMs: 0 });
    await proxy.stop();
  });

  async function ask(method: string, path: string, session = id, headers = {}): Promise<Answer> {
    const answer = await fetch(`${url}${path}`, { method, headers: { "x-session-id": session, ...headers } });
    const body = (await answer.json()) as Answer["body"];
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body };
  }
  const chat = (message: string, session = id): Promise<Answer> =>
    ask("POST", `/api/chat?message=${message}`, session, { "idempotency-key": message });

  async function said(session = id): Promise<readonly string[]> {
    const { body } = await ask("GET", "/api/state", session);
    return (body.messages ?? []).flatMap(({ sender, content }) => (sender === "user" ? [content] : []));
  }

  /** Retries until the chat is accepted, honouring `Retry-After`. */
  async function sendAgain(message: string, session = id): Promise<void> {
    await expect.poll(async () => (await chat(message, session)).status).toBe(200);
  }

  /**
   * Runs `what` at the COMMIT of the transaction that contains the text, once, and forwards everything else.
   */
  function atCommitOf(text: string, what: FromClient): void {
    let found: Link | null = null;
    proxy.fromClient = (bytes, link) => {
      if (bytes.includes(text)) found = link;
      if (link !== found || !bytes.includes("COMMIT\0")) {
        link.server.write(bytes);
        return;
      }
      proxy.fromClient = null;
      what(bytes, link);
    };
  }

  it("succeeds if it was committed and the response was lost", async () => {
    atCommitOf("first", (bytes, { client, server }) => {
      // Earlier writes share packets with the COMMIT and get their responses before it.
      let answered = "";
      server.removeAllListeners("data");
      server.on("data", (piece: Buffer) => {
        answered += piece.toString("latin1");
        if (answered.includes("COMMIT\0")) client.destroy();
      });
      server.write(bytes);
    });
    const answer = await chat("first");
    expect(answer.status).toBe(200);
    // The turn may have started with the chat, or may wait for the service's first claim.
    expect(answer.body.messages?.[0]).toMatchObject({ content: "first" });
    await chat("second");
    expect(await said()).toEqual(["first", "second"]);
  });

  it("is refused if it was not committed, leaves nothing behind, and can be sent again", async () => {
    atCommitOf("first", (_bytes, { client, server }) => {
      client.destroy();
      server.destroy();
    });
    const refused = await chat("first");
    expect(refused).toMatchObject({ status: 503, retryAfter: "1" });
    expect(refused.body.detail).toContain("nothing was changed");
    expect(await said()).toEqual([]);
    await sendAgain("first");
    expect(await said()).toEqual(["first"]);
  });

  it("is neither reported as lost nor duplicated if the outcome of the commit cannot be checked", async () => {
    atCommitOf("first", (bytes, { client, server }) => {
      server.removeAllListeners("data");
      server.once("data", () => {
        proxy.fromClient = (_bytes, { client }) => void client.destroy();
        client.destroy();
      });
      server.write(bytes);
    });
    const refused = await chat("first");
    expect(refused).toMatchObject({ status: 503, retryAfter: "1" });
    expect(refused.body.code).toBe("outcome_unknown");
    expect(refused.body.detail).toContain("Check whether the request took effect");
    proxy.fromClient = null;
    await sendAgain("first");
    expect(await said()).toEqual(["first"]);
  });

  it("appears in the operators' overview, which still responds", async () => {
    const overview = async () => {
      const headers = { authorization: `Bearer ${ADMIN_KEY}` };
      const answer = await fetch(`${url}/api/admin/overview`, { headers });
      expect(answer.status).toBe(200);
      return AdminOverview.parse(await answer.json());
    };
    proxy.isBroken = true;
    proxy.cut();
    const away = await overview();
    expect(away).toMatchObject({
      is_ready: false,
      everywhere: null,
      store: { is_healthy: false, read_ms: null, commit_ms: null },
      bus: { kind: "postgresql", is_healthy: false, round_trip_ms: null },
    });
    expect([away.problems, away.store.problems, away.bus.problems].map(({ length }) => length)).toEqual([
      1, 2, 1,
    ]);
    proxy.isBroken = false;
    await expect.poll(overview).toMatchObject({
      is_ready: true,
      everywhere: { running_turns: 0 },
      store: { is_healthy: true },
      bus: { is_healthy: true },
    });
  });

  it("is accepted or refused with Retry-After during a restart of the database, and is stored if accepted", async () => {
    const sessions = Array.from({ length: 60 }, newId);
    const before = await Promise.all(sessions.slice(0, 20).map((session) => chat("hello", session)));
    expect(before.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const during = sessions.slice(20).map(async (session, index) => {
      // Avoids that all of them share one transaction.
      for (let rounds = 0; rounds < index; rounds += 1) await new Promise((resolve) => setImmediate(resolve));
      return await chat("hello", session);
    });
    await database.halt();
    const settled = [...before, ...(await Promise.all(during))];
    const refused = await chat("hello");
    await database.resume();
    expect(refused).toMatchObject({ status: 503, retryAfter: "1" });
    for (const [index, session] of sessions.entries()) {
      const { status, retryAfter } = settled[index]!;
      expect([200, 503]).toContain(status);
      if (status === 503) expect(retryAfter).toBe("1");
      if (status === 503) await sendAgain("hello", session);
      await expect.poll(() => said(session)).toEqual(["hello"]);
    }
  });
});
