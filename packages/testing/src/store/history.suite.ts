import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { existing, chat, startTurn, identityOf, step, complete } from "./fixtures/scenario.ts";

export function describeHistory(openStore: OpenStore): void {
  describe("the history of a turn", () => {
    const given = givenStore(openStore, "all");
    const numbers = (turns: readonly { readonly number: number }[] | null) =>
      turns?.map(({ number }) => number);

    it("contains the turns up to this one, oldest first, with their steps unchanged", async () => {
      const id = randomUUID();
      const first = identityOf(await startTurn(given.store, id, "one"));
      const call = { id: "c", name: "t", arguments: {}, status: "running", effect: "read", step: 1 } as const;
      const parts = [{ type: "tool-call", toolCallId: "c", providerOptions: { x: { y: [1, null] } } }];
      const usage = {
        inputTokens: 5,
        outputTokens: 4,
        totalTokens: 9,
        reasoningTokens: 3,
        cachedInputTokens: 2,
      };
      const asking = step(1, "", { parts, usage, finishReason: "tool-calls" });
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: first },
        input: { step: asking, calls: [call], actions: [] },
      });
      await given.store.execute({
        kind: "toolResult",
        target: { turn: first },
        input: { outcome: { callId: "c", output: 1, isError: false, durationMs: 1 }, starts: [] },
      });
      const last = step(2, "answer one");
      await given.store.execute({ kind: "complete", target: { turn: first }, input: { step: last } });
      const second = await startTurn(given.store, id, "two");
      await chat(given.store, id, "three waits and is not told yet");
      const turns = await given.store.turns.history(identityOf(second), 10_000);
      expect(turns).toMatchObject([
        {
          number: 1,
          state: "complete",
          userMessage: { content: "one" },
          agentMessage: { content: "answer one", toolResults: [{ call_id: "c" }] },
        },
        { number: 2, state: "running", userMessage: { content: "two" }, agentMessage: { content: "" } },
      ]);
      expect(turns?.[0]?.steps).toEqual([asking, last]);
      expect(turns?.[1]?.steps).toEqual([]);
    });

    it("contains as many of the last turns as fit, and always the last one", async () => {
      const id = randomUUID();
      for (const text of ["one", "two", "three"]) {
        await complete(given.store, await startTurn(given.store, id, text), "x".repeat(1000));
      }
      const turn = identityOf(await startTurn(given.store, id, "y".repeat(500)));
      expect(numbers(await given.store.turns.history(turn, 100_000))).toEqual([1, 2, 3, 4]);
      expect(numbers(await given.store.turns.history(turn, 2_500))).toEqual([3, 4]);
      expect(numbers(await given.store.turns.history(turn, 501))).toEqual([4]);
      expect(numbers(await given.store.turns.history(turn, 0))).toEqual([4]);
    });

    it("omits unanswered messages that an interrupt dropped, and keeps interrupted answers", async () => {
      const id = randomUUID();
      const first = await startTurn(given.store, id, "one");
      await chat(given.store, id, "dropped");
      const streamed = { messageId: first.agentMessage.id, epoch: first.epoch, text: "cut sh" };
      await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed } });
      const turn = identityOf(await startTurn(given.store, id, "three"));
      const turns = await given.store.turns.history(turn, 10_000);
      expect(numbers(turns)).toEqual([1, 3]);
      expect(turns?.[0]).toMatchObject({ state: "interrupted", agentMessage: { content: "cut sh" } });
    });
  });
}
