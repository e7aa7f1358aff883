import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "@colloquy/testing/internal/manual-clock";
import { chat, complete, startTurn } from "@colloquy/testing/internal/store/fixtures/scenario";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { parseSearch } from "@colloquy/engine/internal/core/search-text";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { readMigrations } from "@colloquy/engine/internal/store/migrations";
import { migrate } from "./migrate.ts";
import { openPostgresStore } from "./open.ts";

const OURS = readMigrations(join(import.meta.dirname, "migrations"));
const INSERT = `INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, head, message_count,
    turn_count, epoch, created_at, updated_at, used_at, retention)
  VALUES (1000, 'old', 'a', 'Old', 'user', 'idle', 'm', 0, 2, 250, 1, 0, 1, 1, 1, 1);
  INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
  SELECT 1000, n, 'message ' || n, 1, 'user', 'complete', n, 'the word ' || n FROM generate_series(1, 250) AS n`;

describe.skipIf(await isWithoutPostgres())("the index for search on PostgreSQL", () => {
  const database = useDatabase("nothing");
  let stores: Store[];
  beforeEach(() => void (stores = []));
  afterEach(async () => void (await Promise.all(stores.map((store) => store.close()))));

  async function open(): Promise<Store> {
    const store = await openPostgresStore({ url: database.url, clock: new ManualClock() });
    stores.push(store);
    return store;
  }
  const find = (store: Store, query: string, id: string) =>
    store.search.find({
      sessions: { kind: "session", id, access: ANONYMOUS },
      words: parseSearch(query)?.words ?? [],
      before: null,
      limit: 1000,
    });

  it("gets the messages of a database of the previous version in batches, new ones first", async () => {
    await migrate(database.connect(), OURS.slice(0, 5));
    await database.query(INSERT);
    const store = await open();
    const id = randomUUID();
    await chat(store, id, "the word anew");
    expect(await store.search.index()).toEqual({ messages: 32, removed: 0, hasMore: true });
    expect(await find(store, "anew", id)).toHaveLength(1);
    for (let batch = 2; batch <= 7; batch += 1)
      expect(await store.search.index()).toMatchObject({ messages: 32, hasMore: true });
    expect(await store.search.index()).toMatchObject({ messages: 251 - 7 * 32, hasMore: false });
    expect(await find(store, '"word"', "old")).toHaveLength(250);
  });

  it("adds each of many messages of one moment with the same few statements", async () => {
    const store = await open();
    await Promise.all(Array.from({ length: 90 }, () => chat(store, randomUUID(), "a shared moment")));
    const query = vi.spyOn(Client.prototype, "query");
    while ((await store.search.index()).hasMore);
    expect(query.mock.calls.length).toBeLessThan(90 * 4);
    query.mockRestore();
  });

  it("adds each message once when several nodes index at the same time, and passes over locked sessions", async () => {
    const nodes = await Promise.all([open(), open(), open()]);
    const ids = Array.from({ length: 30 }, () => randomUUID());
    await Promise.all(ids.map((id) => chat(nodes[0], id, "a shared word")));
    const [held] = ids;
    const holder = database.connect();
    await holder.use(async (connection) => {
      await connection.query("BEGIN");
      await connection.query("SELECT FROM sessions WHERE id = $1 FOR UPDATE", [held]);
      const batches = await Promise.all(nodes.map((node) => node.search.index()));
      expect(batches.reduce((sum, { messages }) => sum + messages, 0)).toBe(29);
      expect(await find(nodes[1], "shared", held!)).toEqual([]);
      await connection.query("COMMIT");
    });
    expect(await nodes[2].search.index()).toMatchObject({ messages: 1 });
    for (const id of ids) expect(await find(nodes[1], "shared", id)).toHaveLength(1);
  });

  it("keeps no part of a message that is removed while it is being indexed", async () => {
    const store = await open();
    const id = randomUUID();
    await complete(store, await startTurn(store, id, "a fleeting word"), "a fleeting answer");
    await Promise.all([
      store.search.index(),
      store.execute({
        kind: "delete",
        target: { session: id, birth: null, load: false, access: null },
        input: null,
      }),
    ]);
    await store.search.index();
    expect(
      await database.query("SELECT 1 FROM search_documents UNION ALL SELECT 1 FROM search_jobs"),
    ).toEqual([]);
  });
});
