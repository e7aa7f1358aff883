import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { PostgresTransport } from "@colloquy/postgres/internal/transport";
import { Connections } from "@colloquy/postgres/internal/connections";
import { inspectPostgres } from "@colloquy/postgres/internal/inspection";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { send as query } from "@colloquy/postgres/internal/statement";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { newSession, send } from "../black-box/client.ts";
import { isWithoutPostgres } from "../postgres-server.ts";
import { isWithout } from "../programs.ts";
import { until } from "../service.ts";
import { usePostgres } from "../use-postgres.ts";
import { endProcess, listening, startIn } from "../watched-process.ts";
import { PgBouncer } from "./pgbouncer.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const REFUSAL = /is behind a pooler in transaction or statement mode.*Connect to the database itself/;

describe.skipIf((await isWithoutPostgres()) || (await isWithout("pgbouncer")))("PgBouncer", () => {
  const postgres = usePostgres();
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });

  /** Returns the URL of a new database behind PgBouncer. */
  async function behind(settings: Readonly<Record<string, string | number>>): Promise<string> {
    const database = await postgres.createDatabase();
    const bouncer = await PgBouncer.start(postgres.port, settings);
    undo.push(() => bouncer.stop());
    return postgres.url(database).replace(`:${postgres.port}/`, `:${bouncer.port}/`);
  }

  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), "colloquy-bouncer-"));
    undo.push(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  describe("in session mode", () => {
    it("serves two nodes without settings for Colloquy", async () => {
      const url = await behind({ pool_mode: "session", default_pool_size: 40 });
      const start = async (): Promise<string> => {
        const node = await listening(startIn(await folder(), { COLLOQUY_DATABASE_URL: url }));
        undo.push(() => endProcess(node));
        return node.address;
      };
      const [first, second] = [await start(), await start()];
      const session = newSession();
      const chat = await send(first, "POST", "/api/chat?message=hello", { session });
      expect(chat.status).toBe(200);
      await until(async () => {
        const { messages } = (await send(second, "GET", "/api/state", { session })).json() as Snapshot;
        return messages.at(-1)?.sender === "agent" && messages.at(-1)?.status === "complete";
      });
      expect((await send(second, "GET", "/readyz")).status).toBe(200);
    });

    it("delivers the notifications between nodes", async () => {
      const url = await behind({ pool_mode: "session" });
      const transport = new PostgresTransport({ url, clock: createSystemClock(), logger: SILENT });
      undo.push(() => transport.close());
      const text = Promise.withResolvers<string>();
      transport.start({ onText: text.resolve, onResumed: () => undefined });
      await Promise.all([transport.ready(), transport.follow()]);
      await transport.send([{ sessionId: null, text: "changed" }]);
      expect(await text.promise).toBe("changed");
    });

    it("keeps the time limits, whether it ignores or refuses them as startup parameters", async () => {
      for (const ignored of ["", "options, statement_timeout, lock_timeout"]) {
        const url = await behind({ pool_mode: "session", ignore_startup_parameters: ignored });
        const connections = new Connections({ url, statementMs: 1234 });
        undo.push(() => connections.end());
        const { rows } = await connections.use((connection) =>
          query(
            connection,
            `SELECT name, setting FROM pg_settings WHERE name IN
               ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name`,
          ),
        );
        expect(rows).toEqual([
          { name: "idle_in_transaction_session_timeout", setting: "1234" },
          { name: "lock_timeout", setting: "617" },
          { name: "statement_timeout", setting: "1234" },
        ]);
      }
    });

    it("is named if its pool has one connection", async () => {
      const url = await behind({ pool_mode: "session", default_pool_size: 1 });
      await expect(openPostgresStore({ url, statementMs: 2_000 })).rejects.toThrow(
        /answers one connection, but not a second one.*default_pool_size/,
      );
    });
  });

  describe.each([
    ["transaction", {}],
    ["transaction", { server_round_robin: 1 }],
    ["transaction", { default_pool_size: 1 }],
    ["statement", {}],
  ] as const)("in %s mode with %j", (mode, settings) => {
    it("is refused by the service and the doctor", async () => {
      const url = await behind({ pool_mode: mode, ...settings });
      const started = startIn(await folder(), { COLLOQUY_DATABASE_URL: url });
      undo.push(() => endProcess(started));
      expect(await started.exited()).toEqual({ code: 1, signal: null });
      expect(started.errors()).toMatch(REFUSAL);
      await expect(inspectPostgres(url, Date.now)).rejects.toThrow(REFUSAL);
    });

    it("is refused while other clients use its pool", async () => {
      const url = await behind({ pool_mode: mode, ...settings });
      const others = new Connections({ url, connections: 6 });
      let isOver = false;
      const busy = Array.from({ length: 6 }, async () => {
        while (!isOver) await others.use((connection) => query(connection, "SELECT pg_sleep(0.002)"));
      });
      undo.push(async () => {
        isOver = true;
        await Promise.all(busy);
        await others.end();
      });
      for (let attempt = 0; attempt < 20; attempt += 1) {
        await expect(openPostgresStore({ url })).rejects.toThrow(REFUSAL);
      }
    });
  });
});
