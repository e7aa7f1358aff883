import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { StartedTurn } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  accessTo,
  chat,
  complete,
  existing,
  identityOf,
  messagesOf,
  remove,
  startTurn,
  step,
  target,
} from "./fixtures/scenario.ts";

export function describeSummaries(openStore: OpenStore): void {
  describe("summaries", () => {
    const given = givenStore(openStore, "all, without sessions");
    const numbers = (turns: readonly { readonly number: number }[] | null) =>
      turns?.map(({ number }) => number);

    /** Creates a session with finished turns that have these answers. */
    async function answered(...answers: readonly string[]) {
      const id = randomUUID();
      const turns: StartedTurn[] = [];
      for (const text of answers) {
        const turn = await startTurn(given.store, id, `question ${text}`);
        await complete(given.store, turn, text);
        turns.push(turn);
      }
      const incarnation = turns[0]?.incarnation ?? "";
      const ids = turns.map(({ agentMessage }) => agentMessage.id);
      return { id, incarnation, ids };
    }

    it("are stored with the last message that they cover, without updating the session's activity", async () => {
      const { id, incarnation, ids } = await answered("a", "b");
      const before = (await given.store.execute({
        kind: "noteUse",
        target: { session: id, incarnation },
        input: null,
      }))!;
      await given.clock.advance(5_000);
      const kept = await keep(given.store, { id, incarnation }, ids[0]!, "what was said");
      expect(kept?.outcome).toBe("ok");
      expect(kept?.session.updatedAt).toBe(before.session.updatedAt);
      const summary = { tokens_before: 90, tokens_after: 10, created_at: expect.any(String) };
      expect(kept?.events.map(({ event }) => event)).toMatchObject([
        { type: "message_updated", message: { id: ids[0], content: "a", summary } },
      ]);
      expect(JSON.stringify(kept?.events)).not.toContain("what was said");
      const stored = (await messagesOf(given.store, id)).map(({ summary: one }) => one?.text);
      expect(stored).toEqual([undefined, "what was said", undefined, undefined]);
      const at = given.clock.now();
      expect(await given.store.admin.summaries(id)).toEqual([
        { turn: 1, tokensBefore: 90, tokensAfter: 10, at },
      ]);
      expect(await given.store.admin.summaries(randomUUID())).toEqual([]);
      expect((await keep(given.store, { id, incarnation }, ids[0]!, "another"))?.outcome).toBe("has_summary");
      expect((await keep(given.store, { id, incarnation }, randomUUID(), "x"))?.outcome).toBe("message_gone");
      expect(await keep(given.store, { id, incarnation: "other" }, ids[1]!, "x")).toBeNull();
    });

    it("begin the history with `useSummary`, even if later turns do not fit, and the ended turns", async () => {
      const { id, incarnation, ids } = await answered("a", "b", "c", "d", "e");
      const running = identityOf(await startTurn(given.store, id, "and now?"));
      await chat(given.store, id, "waits");
      const history = async (characters: number, useSummary = true) =>
        numbers(await given.store.turns.history(running, characters, useSummary));
      const ended = async (characters: number) =>
        numbers(await given.store.turns.ended(id, incarnation, characters));
      expect(await history(1_000)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await ended(1_000)).toEqual([1, 2, 3, 4, 5]);
      await keep(given.store, { id, incarnation }, ids[0]!, "up to a");
      await keep(given.store, { id, incarnation }, ids[2]!, "up to c");
      expect(await history(1_000)).toEqual([3, 4, 5, 6]);
      expect(await history(10)).toEqual([3, 6]);
      expect(await history(0)).toEqual([3, 6]);
      expect(await history(1_000, false)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await ended(1_000)).toEqual([3, 4, 5]);
      expect(await ended(0)).toEqual([3, 5]);
      const [first] = (await given.store.turns.ended(id, incarnation, 0)) ?? [];
      expect(first?.agentMessage?.summary).toMatchObject({ text: "up to c", tokensBefore: 90 });
      expect(await given.store.turns.ended(id, "other", 0)).toBeNull();
      expect(await given.store.turns.ended(randomUUID(), incarnation, 0)).toBeNull();
    });

    it("limit the history to the newest turn if they cover it", async () => {
      const { id, incarnation, ids } = await answered("a", "b");
      await keep(given.store, { id, incarnation }, ids[1]!, "all");
      expect(numbers(await given.store.turns.ended(id, incarnation, 1_000))).toEqual([2]);
      const running = identityOf(await startTurn(given.store, id, "and now?"));
      expect(numbers(await given.store.turns.history(running, 1_000, true))).toEqual([2, 3]);
    });

    it("are removed by an edit of a message that they cover, and kept otherwise", async () => {
      const { id, incarnation, ids } = await answered("a", "b", "c");
      await keep(given.store, { id, incarnation }, ids[0]!, "up to a");
      await keep(given.store, { id, incarnation }, ids[1]!, "up to b");
      const summaries = async () =>
        (await messagesOf(given.store, id)).flatMap(({ summary }) => summary?.text ?? []);
      const replace = async (text: string, replaces: string) => {
        const turn = await startTurn(given.store, id, text, { replaces });
        await complete(given.store, turn, "again");
      };
      const questions = (await messagesOf(given.store, id)).filter(({ role }) => role === "user");
      await replace("last", questions[2]!.id);
      expect(await summaries()).toEqual(["up to a", "up to b"]);
      await replace("middle", questions[1]!.id);
      expect(await summaries()).toEqual(["up to a"]);
      await replace("first", questions[0]!.id);
      expect(await summaries()).toEqual([]);
      expect((await keep(given.store, { id, incarnation }, ids[0]!, "late"))?.outcome).toBe("message_gone");
    });

    it("are copied by a fork if it copies their last message", async () => {
      const { id, incarnation, ids } = await answered("a", "b", "c");
      await keep(given.store, { id, incarnation }, ids[0]!, "up to a");
      await keep(given.store, { id, incarnation }, ids[1]!, "up to b");
      const forked = async (through: string) => {
        const copy = randomUUID();
        const input = { origin: id, through, access: accessTo("default"), messageId: randomUUID() };
        const made = await given.store.execute({ kind: "fork", target: target(copy), input });
        expect(made?.outcome).toBe("ok");
        return (await messagesOf(given.store, copy)).flatMap(({ summary }) => summary?.text ?? []);
      };
      expect(await forked(ids[0]!)).toEqual(["up to a"]);
      expect(await forked(ids[2]!)).toEqual(["up to a", "up to b"]);
    });
  });

  describe("summary jobs", () => {
    const given = givenStore(openStore, "all, without sessions");
    const claim = (limit = 10) => given.store.jobs.claimSummaries(limit, 5_000);

    /** Ends a turn and stores a summary job. */
    async function wanted(kind: "complete" | "fail" = "complete") {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "hello");
      const of = { target: { turn: identityOf(turn) } };
      const failure = { code: "model_error", message: "It failed." } as const;
      await given.store.execute(
        kind === "complete"
          ? { kind, ...of, input: { step: step(1, "long"), summaryBudget: 9_000 } }
          : { kind, ...of, input: { text: "long", failure, summaryBudget: 9_000 } },
      );
      return { id, turn };
    }

    it.each(["complete", "fail"] as const)("are stored when a turn ends with %s", async (kind) => {
      const { id, turn } = await wanted(kind);
      const { incarnation, sessionKey } = turn;
      const session = { sessionId: id, sessionKey, incarnation, app: "default", utilityModel: null };
      expect(await claim()).toEqual([{ ...session, model: turn.model, budget: 9_000, attempts: 1 }]);
    });

    it("are not stored by interrupts and ordinary completions", async () => {
      await complete(given.store, await startTurn(given.store, randomUUID(), "hello"), "short");
      expect(await claim()).toEqual([]);
    });

    it("are claimed by one caller at a time, again after their lease, with a count of attempts", async () => {
      await Promise.all(Array.from({ length: 6 }, () => wanted()));
      const claimed = await Promise.all([claim(4), claim(4)]);
      expect(claimed.map((jobs) => jobs.length)).toEqual([4, 2]);
      expect(new Set(claimed.flat().map(({ sessionId }) => sessionId)).size).toBe(6);
      await given.clock.advance(4_999);
      expect(await claim()).toEqual([]);
      await given.clock.advance(1);
      expect((await claim()).map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2, 2, 2]);
    });

    it("are rescheduled or removed on request", async () => {
      await wanted();
      const [job] = await claim();
      await given.store.jobs.endSummary(job!, { dueInMs: 60_000, attempts: 1 });
      await given.clock.advance(59_999);
      expect(await claim()).toEqual([]);
      await given.clock.advance(1);
      const [second] = await claim();
      expect(second).toMatchObject({ attempts: 2 });
      // The first claim ended with its lease.
      await given.store.jobs.endSummary(job!, null);
      await given.store.jobs.endSummary(job!, { dueInMs: 3_600_000, attempts: 1 });
      await given.store.jobs.endSummary(second!, { dueInMs: 0, attempts: 0 });
      const [third] = await claim();
      expect(third).toMatchObject({ attempts: 1 });
      await given.store.jobs.endSummary(third!, null);
      await given.clock.advance(3_600_000);
      expect(await claim()).toEqual([]);
    });

    it("keep their due time if another turn ends", async () => {
      const { id } = await wanted();
      const [job] = await claim();
      await given.store.jobs.endSummary(job!, { dueInMs: 60_000, attempts: 1 });
      const turn = identityOf(await startTurn(given.store, id, "more"));
      const input = { step: step(1, "more"), summaryBudget: 9_000 };
      await given.store.execute({ kind: "complete", target: { turn }, input });
      expect(await claim()).toEqual([]);
      await given.clock.advance(60_000);
      expect(await claim()).toMatchObject([{ attempts: 2 }]);
    });

    it("are deleted with their session", async () => {
      const { id } = await wanted();
      await remove(given.store, existing(id));
      await startTurn(given.store, id, "a new life");
      expect(await claim()).toEqual([]);
    });
  });
}

function keep(
  store: Store,
  { id, incarnation }: { readonly id: string; readonly incarnation: string },
  messageId: string,
  text: string,
) {
  const summary = { text, tokensBefore: 90, tokensAfter: 10 };
  return store.execute({
    kind: "keepSummary",
    target: { session: id, incarnation },
    input: { messageId, summary },
  });
}
