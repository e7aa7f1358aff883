import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { FeedbackInput } from "@colloquy/engine/internal/core/commands/give-feedback";
import type { FeedbackQuery } from "@colloquy/engine/internal/core/ports/driven/store";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { accessTo, chat, complete, existing, messagesOf, startTurn, target } from "./fixtures/scenario.ts";

const ALL: FeedbackQuery = { app: null, score: null, from: null, to: null, after: null, limit: 100 };

export function describeFeedback(openStore: OpenStore): void {
  describe("feedback", () => {
    const given = givenStore(openStore, "each");

    /** Answers a question in this App; returns the ids of the session and the answer. */
    async function answered(app = "default") {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "hello", { app });
      await complete(given.store, turn, "Hi.");
      const answer = (await messagesOf(given.store, id)).at(-1);
      return { id, answer: answer?.id ?? "" };
    }
    async function give(id: string, messageId: string, more: Partial<FeedbackInput> = {}) {
      await given.clock.advance(1_000);
      const input = { messageId, score: 1, comment: null, tags: [], ...more } as const;
      return (await given.store.execute({ kind: "giveFeedback", target: existing(id), input }))?.outcome;
    }
    const listed = async (query: Partial<FeedbackQuery> = {}) =>
      (await given.store.feedback.list({ ...ALL, ...query })).map(({ messageId }) => messageId);

    it("is stored with its answer and listed, newest first, in pages and by filter", async () => {
      const [one, two, three] = [await answered(), await answered("defi"), await answered()];
      await give(one.id, one.answer, { score: -1, comment: 'a "quoted" comment', tags: ["wrong", "slow"] });
      await give(two.id, two.answer);
      await give(three.id, three.answer, { score: 0, comment: "hm" });
      const [newest, middle, oldest] = await given.store.feedback.list(ALL);
      expect(await listed()).toEqual([three.answer, two.answer, one.answer]);
      expect(oldest).toMatchObject({ sessionId: one.id, app: "default", turn: 1, position: 2 });
      expect(oldest).toMatchObject({ score: -1, comment: 'a "quoted" comment', tags: ["wrong", "slow"] });
      expect((await messagesOf(given.store, one.id)).at(-1)?.feedback).toMatchObject({
        score: -1,
        at: oldest!.at,
      });
      expect(await listed({ limit: 1, after: newest! })).toEqual([two.answer]);
      expect(await listed({ after: oldest! })).toEqual([]);
      expect(await listed({ app: "defi" })).toEqual([two.answer]);
      expect(await listed({ score: -1 })).toEqual([one.answer]);
      expect(await listed({ score: 1 })).toEqual([two.answer]);
      expect(await listed({ score: 0 })).toEqual([three.answer]);
      expect(await listed({ from: middle!.at })).toEqual([three.answer, two.answer]);
      expect(await listed({ to: middle!.at })).toEqual([one.answer]);
    });

    it("is replaced and removed, and goes with its session", async () => {
      const { id, answer } = await answered();
      await give(id, answer, { comment: "first" });
      await give(id, answer, { comment: "second" });
      expect(await given.store.feedback.list(ALL)).toMatchObject([{ comment: "second" }]);
      await give(id, answer, { score: 0 });
      expect(await listed()).toEqual([]);
      await give(id, answer);
      await given.store.execute({ kind: "delete", target: existing(id), input: null });
      expect(await listed()).toEqual([]);
    });

    it("is not copied into a fork, and refused without access", async () => {
      const { id, answer } = await answered();
      await give(id, answer);
      const copy = randomUUID();
      const input = { origin: id, through: null, access: accessTo("default"), messageId: randomUUID() };
      const forked = await given.store.execute({ kind: "fork", target: target(copy), input });
      expect(forked?.outcome).toBe("ok");
      expect((await messagesOf(given.store, copy)).at(-1)).toMatchObject({ content: "Hi." });
      expect(await listed()).toEqual([answer]);
      const bound = await answered("defi");
      const hidden = { ...existing(bound.id), access: accessTo("shop") };
      const refused = { messageId: bound.answer, score: 1, comment: null, tags: [] } as const;
      const denied = await given.store.execute({ kind: "giveFeedback", target: hidden, input: refused });
      expect(denied?.outcome).toBe("other_app");
      expect(await give(id, randomUUID())).toBe("message_not_found");
    });

    it("reads the answer it is for, also in the batch in which that ends", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "hello");
      const [, answer] = await messagesOf(given.store, id);
      const input = { messageId: answer!.id, score: 1, comment: null, tags: [] } as const;
      const [, outcome] = await Promise.all([
        complete(given.store, turn, "Hi."),
        given.store.execute({ kind: "giveFeedback", target: existing(id), input }),
      ]);
      expect(outcome?.outcome).toMatchObject({ feedback: { score: 1 } });
      await chat(given.store, id, "more");
      expect((await messagesOf(given.store, id))[1]).toMatchObject({
        content: "Hi.",
        feedback: { score: 1 },
      });
    });
  });
}
