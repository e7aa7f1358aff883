import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import {
  askOf,
  chat,
  claimTurns,
  clientToolOf,
  complete,
  decide,
  DENY,
  existing,
  identityOf,
  messagesOf,
  startTurn,
  step,
  target,
  waitFor,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import { Violations } from "../violations.ts";
import { checkAudit, installAudit } from "./write-audit.ts";

interface Audited {
  readonly database: string;
  readonly epoch: number;
  readonly key: number;
}

describe.skipIf(await isWithoutPostgres())("the audit of writes", () => {
  const server = usePostgres();
  /**
   * Databases with the audit in which `node-1` has written a step of a running turn; in the second it has
   * also ended the turn.
   */
  let running: Audited;
  let ended: Audited;
  beforeAll(async () => {
    running = await makeAudited(false);
    ended = await makeAudited(true);
  });

  async function makeAudited(isEnded: boolean): Promise<Audited> {
    const database = await server.createDatabase();
    const store = await openPostgresStore({ url: `${server.url(database)}?application_name=node-1.1` });
    await installAudit(server, database);
    const turn = await startTurn(store, randomUUID(), "Hello");
    await store.turns.checkpoint([{ turn, offset: 0, text: "Hel" }]);
    expect(
      await store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Hello"), calls: [], actions: [] },
      }),
    ).not.toBeNull();
    if (isEnded)
      expect(
        await store.execute({ kind: "complete", target: { turn }, input: { step: step(2, "World") } }),
      ).not.toBeNull();
    await store.close();
    return { database, epoch: turn.epoch, key: turn.sessionKey };
  }

  /** Returns a copy of one of the two. */
  async function audited({ isEnded = false } = {}): Promise<Audited> {
    const original = isEnded ? ended : running;
    return { ...original, database: await server.createDatabase(original.database) };
  }

  /** Returns the audit's findings after `node-2` has run a statement directly. */
  async function findsAfter(
    { database }: { readonly database: string },
    statement: string,
  ): Promise<(readonly [string, string])[]> {
    await server.query(database, `SET application_name = 'node-2.1'; ${statement}`);
    const violations = new Violations();
    await checkAudit(server, database, violations);
    return violations.all.map(({ kind, detail }) => [kind, detail] as const);
  }

  /** Opens the database as two nodes. */
  const openTwice = async (database: string) => {
    const openAs = (node: string) =>
      openPostgresStore({ url: `${server.url(database)}?application_name=${node}` });
    return [await openAs("node-1.1"), await openAs("node-2.1")] as const;
  };

  it("finds nothing if each epoch has one writer", async () => {
    const { database } = await audited({ isEnded: true });
    const violations = new Violations();
    expect(await checkAudit(server, database, violations)).toEqual({
      steps: 1,
      checkpoints: 1,
      messages: 1,
      turns: 1,
    });
    expect(violations.all).toEqual([]);
  });

  it.each([
    ["checkpoints", `INSERT INTO checkpoints VALUES (KEY, 1, 0, 'x')`],
    ["steps", `INSERT INTO steps VALUES (KEY, 1, 2, 'stop', '{}', 'x', '[]')`],
    ["messages", `UPDATE messages SET content = 'x' WHERE session_key = KEY AND role <> 'user'`],
    ["turns", `UPDATE turns SET steps = 7 WHERE session_key = KEY`],
  ])("finds an epoch under which another process has written %s", async (table, statement) => {
    const given = await audited();
    expect(await findsAfter(given, statement.replace("KEY", String(given.key)))).toEqual([
      ["old epoch", `epoch ${given.epoch}: of node-1.1; node-2.1 has written ${table} under it`],
    ]);
  });

  it("allows any process to write what needs no owner", async () => {
    const given = await audited();
    const statement = `UPDATE turns SET runnable = 1 WHERE session_key = KEY; UPDATE sessions SET title = 'x' WHERE key = KEY`;
    expect(await findsAfter(given, statement.replaceAll("KEY", String(given.key)))).toEqual([]);
  });

  it("allows any process to end a turn after too many attempts", async () => {
    const given = await audited();
    const statement = `UPDATE messages SET status = 'failed' WHERE session_key = KEY AND role <> 'user';
      UPDATE turns SET state = 'failed', failure = 'turn_crashed', ended_at = 1 WHERE session_key = KEY`;
    expect(await findsAfter(given, statement.replaceAll("KEY", String(given.key)))).toEqual([]);
  });

  it("allows any process to copy a conversation, and to edit one whose earlier message loses its answer", async () => {
    const { database } = await audited({ isEnded: true });
    const [one, two] = await openTwice(database);
    const id = randomUUID();
    for (const text of ["first", "second"]) await chat(one, id, text);
    const [claimed] = await claimTurns(one);
    const turn = claimed?.outcome;
    if (turn === null || turn === undefined) throw new Error("The turn was not claimed");
    await complete(one, identityOf(turn), "the answer to the first");
    const input = { origin: id, through: null, access: ANONYMOUS, messageId: randomUUID() };
    const copied = await two.execute({ kind: "fork", target: target(randomUUID()), input });
    const [, second] = await messagesOf(two, id);
    const { outcome } = await chat(two, id, "other", { replaces: second?.id ?? "" });
    expect([copied?.outcome, outcome.kind]).toEqual(["ok", "accepted"]);
    for (const store of [one, two]) await store.close();
    expect(await findsAfter({ database }, "SELECT 1")).toEqual([]);
  });

  it("allows any process to decide what a turn waits for", async () => {
    const { database } = await audited({ isEnded: true });
    const [one, two] = await openTwice(database);
    const asked = askOf("a", { asked: clientToolOf() });
    const { id } = await waitFor(one, asked);
    const decided = await decide(two, existing(id), asked.id, DENY);
    expect(decided?.outcome).toMatchObject({ kind: "decided", unblocked: 1 });
    for (const store of [one, two]) await store.close();
    expect(await findsAfter({ database }, "SELECT 1")).toEqual([]);
  });

  it.each([
    ["has no event", "UPDATE sessions SET head = head + 1 WHERE key = KEY"],
    ["came after", "UPDATE sessions SET head = head - 1 WHERE key = KEY"],
    ["is beyond the head", "INSERT INTO events SELECT KEY, max(number) + 1, 0, '{}' FROM events"],
    [
      "has none before it",
      "INSERT INTO events SELECT KEY, max(number) + 2, 0, '{}' FROM events; UPDATE sessions SET head = head + 2 WHERE key = KEY",
    ],
    ["was changed", "UPDATE events SET payload = '[]' WHERE session_key = KEY AND number = 1"],
  ])("finds a broken event log: %s", async (text, statement) => {
    const given = await audited();
    const found = await findsAfter(given, statement.replaceAll("KEY", String(given.key)));
    expect(found).toEqual([["broken log", expect.stringContaining(text)]]);
    expect(found[0]?.[1]).toContain("by node-2.1");
  });

  it("finds an event written into an ended incarnation", async () => {
    const given = await audited();
    expect(await findsAfter(given, "INSERT INTO events VALUES (999999, 1, 0, '{}')")).toEqual([
      ["foreign message", expect.stringContaining("an incarnation that has ended")],
    ]);
  });

  it.each([
    ["message 1", "UPDATE messages SET status = 'queued' WHERE session_key = KEY AND position = 1"],
    ["message 2", "UPDATE messages SET content = 'x' WHERE session_key = KEY AND position = 2"],
    ["turn 1", "UPDATE turns SET failure = 'x' WHERE session_key = KEY"],
    ["turn 1", "INSERT INTO steps VALUES (KEY, 1, 3, 'stop', '{}', 'x', '[]')"],
    ["turn 1", "INSERT INTO checkpoints VALUES (KEY, 1, 0, 'x')"],
  ])("finds that %s was written after its end: %s", async (about, statement) => {
    const given = await audited({ isEnded: true });
    const found = await findsAfter(given, statement.replace("KEY", String(given.key)));
    expect(found).toContainEqual(["changed after sealed", expect.stringContaining(about)]);
  });

  it("finds a second running turn of a session", async () => {
    const given = await audited();
    const columns = "state, user_position, attempts, steps, epoch, runnable, usage, enqueued_at";
    const statement = `INSERT INTO turns (session_key, number, ${columns}) SELECT session_key, 2, ${columns} FROM turns`;
    expect(await findsAfter(given, statement)).toEqual([
      ["two turns at once", expect.stringContaining("turn 2")],
    ]);
  });

  it("records nothing for rolled-back writes", async () => {
    const given = await audited();
    const statement = `BEGIN; UPDATE messages SET content = 'x' WHERE session_key = ${given.key} AND role <> 'user'; ROLLBACK`;
    expect(await findsAfter(given, statement)).toEqual([]);
  });

  it("reports that it recorded no writes at all", async () => {
    const database = await server.createDatabase();
    await (await openPostgresStore({ url: server.url(database) })).close();
    await installAudit(server, database);
    const violations = new Violations();
    await checkAudit(server, database, violations);
    expect(violations.all.map(({ detail }) => detail).toSorted()).toEqual(
      ["checkpoints", "messages", "steps", "turns"].map((table) => `audit of ${table}: nothing was recorded`),
    );
  });
});
