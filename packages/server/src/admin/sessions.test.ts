import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import type { AdminSessionQuery } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type { SeenSession } from "@colloquy/engine/internal/core/ports/driven/admin-store";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { createHandles } from "@colloquy/engine/internal/wiring/handle-cipher";
import { LEASE_MS } from "@colloquy/engine/internal/core/turn";
import {
  chat,
  complete,
  identityOf,
  NOTHING,
  startTurn,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import {
  listSessions,
  MAX_SCANNED,
  MAX_OPEN,
  seeSessionWithTurns,
  type AdminSessionsOptions,
} from "./sessions.ts";

const ANY: AdminSessionQuery = { status: null, app: null, search: null, limit: 50, cursor: null };
const limits = { turnMs: 600_000 };
const handles = createHandles(new Uint8Array(32));

let clock: ManualClock;
let store: Store;
let stored: AdminSessionsOptions;

beforeEach(async () => {
  clock = new ManualClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  store = await openSqliteStore({ directory: null, clock, onFatal });
  stored = { store: store.admin, limits, handles };
});
afterEach(() => store.close());

async function idsOf(query: Partial<AdminSessionQuery>): Promise<string[]> {
  return (await listSessions(stored, { ...ANY, ...query })).sessions.map(({ session_id }) => session_id);
}

/** One session of each status, in the order of the statuses. */
async function openAll(): Promise<Record<string, string>> {
  const named: Record<string, string> = {};
  const next = async (name: string, make: (id: string) => Promise<unknown>) => {
    await clock.advance(1);
    named[name] = randomUUID();
    await make(named[name]);
  };
  await next("stuck", (id) => startTurn(store, id, "one"));
  await clock.advance(LEASE_MS + 5_001);
  await next("idle", async (id) => complete(store, await startTurn(store, id, "one"), "done"));
  await next("failed", async (id) => {
    const turn = await startTurn(store, id, "one");
    await store.execute({
      kind: "fail",
      target: { turn: identityOf(turn) },
      input: { text: "", failure: { code: "model_timeout", message: "Too slow." } },
    });
  });
  await next("processing", (id) => startTurn(store, id, "one"));
  return named;
}

describe("sessions", () => {
  it("are each found under exactly one status", async () => {
    const named = await openAll();
    for (const [status, id] of Object.entries(named)) {
      expect(await idsOf({ status: status as "idle" })).toEqual([id]);
    }
    expect(await idsOf({ status: "waiting" })).toEqual([]);
    expect(await idsOf({})).toEqual([named["processing"], named["failed"], named["idle"], named["stuck"]]);
    const [failed] = (await listSessions(stored, { ...ANY, status: "failed" })).sessions;
    expect(failed).toMatchObject({ turn: { error: "model_timeout", stuck: null, state: "failed" } });
    const [stuck] = (await listSessions(stored, { ...ANY, status: "stuck" })).sessions;
    expect(stuck!.turn!.stuck).toMatch(/lease/);
  });

  it("are found by part of the title, ignoring case, and by id or wallet", async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    await store.execute({
      kind: "open",
      target: target(one),
      input: { userState: null, publicKey: "0xabc" },
    });
    await store.execute({ kind: "open", target: target(two), input: NOTHING });
    await store.execute({
      kind: "edit",
      target: { session: one, birth: null, load: false, access: null },
      input: { title: "Über Brücken" },
    });
    await store.execute({
      kind: "edit",
      target: { session: two, birth: null, load: false, access: null },
      input: { title: "100%_sure" },
    });
    expect(await idsOf({ search: "BRÜCK" })).toEqual([one]);
    expect(await idsOf({ search: "%_" })).toEqual([two]);
    expect(await idsOf({ search: "_%" })).toEqual([]);
    expect(await idsOf({ search: two.toUpperCase() })).toEqual([two]);
    expect(await idsOf({ search: handles.of(two) })).toEqual([two]);
    for (const part of [two.slice(0, 35), two.slice(0, 8), handles.of(two).slice(0, 23)])
      expect(await idsOf({ search: part })).toEqual([]);
    expect(await idsOf({ search: randomUUID() })).toEqual([]);
    expect(await idsOf({ search: "0xABC" })).toEqual([one]);
    expect(await idsOf({ search: two, status: "processing" })).toEqual([]);
  });

  it.each([{}, { status: "idle" }, { status: "processing" }, { search: "new" }] as const)(
    "come in pages that leave nothing out: %j",
    async (filter) => {
      const opened: string[] = [];
      for (let count = 0; count < 7; count += 1) {
        const id = randomUUID();
        await clock.advance(1);
        const turn = await startTurn(store, id, "one", { app: count % 2 === 0 ? "defi" : "default" });
        if (filter.status !== "processing") await complete(store, turn, "done");
        opened.push(id);
      }
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page = await listSessions(stored, { ...ANY, ...filter, limit: 3, cursor });
        seen.push(...page.sessions.map(({ session_id }) => session_id));
        expect(page.is_complete).toBe(true);
        cursor = page.next_cursor;
        pages += 1;
      } while (cursor !== null);
      expect(seen).toEqual(opened.toReversed());
      expect(pages).toBe(3);
    },
  );

  it("reject an invalid cursor", async () => {
    for (const cursor of ["", "x", "1-", "-1", "1-2-3", "zzzzzzzzzzz-1", "1 -2"]) {
      await expect(listSessions(stored, { ...ANY, cursor })).rejects.toMatchObject({
        code: "invalid_cursor",
      });
    }
  });
});

describe("the turns of a session", () => {
  it("are paged newest first, and only the first open one can be stuck", async () => {
    const id = randomUUID();
    await complete(store, await startTurn(store, id, "one"), "done");
    await startTurn(store, id, "two");
    await chat(store, id, "three");
    await clock.advance(LEASE_MS + 5_001);
    const { session, turns, next_before } = await seeSessionWithTurns(stored, id, { before: null, limit: 2 });
    expect(session).toMatchObject({ status: "stuck", turn: { number: 2 } });
    expect(turns.map(({ number, stuck }) => [number, stuck === null])).toEqual([
      [3, true],
      [2, false],
    ]);
    const rest = await seeSessionWithTurns(stored, id, { before: next_before, limit: 2 });
    expect(rest).toMatchObject({ turns: [{ number: 1 }], next_before: null });
  });

  it("include metadata of the session's summaries, but not their texts", async () => {
    const id = randomUUID();
    const { agentMessage, incarnation } = await startTurn(store, id, "one");
    const input = {
      messageId: agentMessage.id,
      summary: { text: "secret", tokensBefore: 900, tokensAfter: 90 },
    };
    await store.execute({ kind: "keepSummary", target: { session: id, incarnation }, input });
    const { summaries } = await seeSessionWithTurns(stored, id, { before: null, limit: 1 });
    expect(summaries).toEqual([
      { turn: 1, tokens_before: 900, tokens_after: 90, created_at: expect.any(String) },
    ]);
  });

  it("reject an unknown session", async () => {
    const turns = seeSessionWithTurns(stored, randomUUID(), { before: null, limit: 1 });
    await expect(turns).rejects.toMatchObject({ status: 404, code: "session_not_found" });
  });
});

describe("one request", () => {
  /** Creates a store with that many idle or open sessions; it counts how many were requested. */
  function manySessions(count: number) {
    let asked = 0;
    const session = (key: number): SeenSession => ({
      key,
      id: randomUUID(),
      spelling: "as-spelled",
      app: "default",
      title: "New Chat",
      model: "demo/assistant",
      publicKey: null,
      messageCount: 0,
      turnCount: 0,
      createdAt: 0,
      updatedAt: 0,
      usedAt: key,
      turn: null,
    });
    const below = (key: number, limit: number): SeenSession[] => {
      const rows = Array.from({ length: Math.min(limit, key) }, (_, index) => session(key - index));
      asked += rows.length;
      return rows;
    };
    const many: AdminSessionsOptions["store"] = {
      ...store.admin,
      used: async ({ after, limit }) => below(after === null ? count : after.key - 1, limit),
      open: async ({ below: key, limit }) => below(key === null ? count : key - 1, limit),
    };
    return { stored: { store: many, limits, handles }, asked: () => asked };
  }

  it("scans a limited number of sessions, and the next page continues after them", async () => {
    const many = manySessions(MAX_SCANNED + 10);
    const first = await listSessions(many.stored, { ...ANY, search: "nothing like it" });
    expect(first.sessions).toEqual([]);
    expect(first.next_cursor).not.toBeNull();
    expect(many.asked()).toBe(MAX_SCANNED);
    const last = await listSessions(many.stored, {
      ...ANY,
      search: "nothing like it",
      cursor: first.next_cursor,
    });
    expect(last.next_cursor).toBeNull();
    expect(many.asked()).toBe(MAX_SCANNED + 10);
  });

  it("scans a limited number of open sessions and reports whether there were more", async () => {
    for (const [count, isComplete] of [
      [MAX_OPEN, true],
      [MAX_OPEN + 1, false],
    ] as const) {
      const many = manySessions(count);
      const page = await listSessions(many.stored, { ...ANY, status: "stuck" });
      expect(page.is_complete).toBe(isComplete);
      expect(many.asked()).toBeLessThanOrEqual(MAX_OPEN + 1);
    }
  });
});
