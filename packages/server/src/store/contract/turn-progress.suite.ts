import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openCalls, type StepCall, type ToolCallRecord } from "../../core/message.ts";
import { givenStore, type OpenStore } from "./testing/given-store.ts";
import { allEvents, everything, identityOf, load, startTurn, step, types } from "./testing/scenario.ts";

const CALL: ToolCallRecord = {
  id: "call-1",
  name: "calculator",
  arguments: { expression: "12 * 7" },
  status: "running",
  effect: "read",
  step: 1,
};
const OUTCOME = { callId: "call-1", output: { value: 84 }, isError: false, durationMs: 3 };
const USAGE = {
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 3,
  reasoningTokens: 0,
  cachedInputTokens: 0,
};

export function describeTurnProgress(openStore: OpenStore): void {
  describe("what a running turn writes", () => {
    const given = givenStore(openStore, "all");

    it("completes with its last step: text, status, usage and events", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const committed = await given.store.turns.complete(turn, step(1, "hi", { usage: USAGE }));
      expect(committed).toMatchObject({ outcome: "ok", session: { status: "idle" }, created: false });
      expect(types(committed?.events ?? [])).toEqual(["message_completed", "state_changed"]);
      const { messages, session } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "hi", status: "complete" });
      expect(session).toEqual(committed?.session);
    });

    it("keeps a step once that is sent again because its answer was lost", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "what is 12 * 7?"));
      await given.store.turns.stepWithCalls(turn, step(1, "Let me see."), [CALL], []);
      const before = await everything(given.store, id);
      const again = await given.store.turns.stepWithCalls(turn, step(1, "Let me see."), [CALL], []);
      expect(again).toMatchObject({ outcome: "ok", events: [] });
      expect(await everything(given.store, id)).toEqual(before);
      expect(await given.store.turns.history(turn, 1_000)).toMatchObject([{ steps: [{ number: 1 }] }]);
    });

    it("keeps a step with its calls, then each call's one result, then the last step", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "what is 12 * 7?"));
      const asked = await given.store.turns.stepWithCalls(turn, step(1, "Let me see."), [CALL], []);
      expect(types(asked?.events ?? [])).toEqual(["message_updated", "tool_update"]);
      const progress = await given.store.turns.toolProgress(turn, "call-1", { percent: 50 });
      expect(progress?.events).toMatchObject([{ event: { type: "tool_update", progress: { percent: 50 } } }]);
      const answered = await given.store.turns.toolResult(turn, OUTCOME);
      expect(types(answered?.events ?? [])).toEqual(["tool_complete", "message_updated"]);
      const before = await everything(given.store, id);
      const twice = await given.store.turns.toolResult(turn, { ...OUTCOME, output: "another" });
      expect(twice?.events).toEqual([]);
      expect((await given.store.turns.toolProgress(turn, "call-1", 1))?.events).toEqual([]);
      expect((await given.store.turns.toolResult(turn, { ...OUTCOME, callId: "unknown" }))?.events).toEqual(
        [],
      );
      expect(await everything(given.store, id)).toEqual(before);
      await given.store.turns.complete(turn, step(2, "It is 84."));
      const { messages } = await load(given.store, id);
      expect(messages[1]).toMatchObject({
        content: "Let me see.\n\nIt is 84.",
        toolCalls: [{ ...CALL, status: "complete", text_offset: "Let me see.".length }],
        toolResults: [
          { call_id: "call-1", name: "calculator", output: { value: 84 }, is_error: false, duration_ms: 3 },
        ],
      });
    });

    it("fails with the text it had, and says why", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const failure = { code: "model_rate_limited", message: "Too many requests." } as const;
      const failed = await given.store.turns.fail(turn, "so far", failure);
      expect(failed?.session.status).toBe("idle");
      const { messages, systemEvents } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "so far", status: "failed" });
      expect(systemEvents.map(({ item }) => [item.type, item.payload])).toEqual([
        ["error", { code: "model_rate_limited", level: "error", message: "Too many requests." }],
      ]);
    });

    it("starts calls that waited for a place before they run: apart, or with the result of the one that had it", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const [now, ...later] = ["a", "b", "c", "d"].map((id): ToolCallRecord => {
        return { ...CALL, id, effect: "unsafe", ...(id !== "a" && { phase: "allowed" }) };
      });
      await given.store.turns.stepWithCalls(turn, step(1, ""), [now!, ...later], []);
      const phases = async () =>
        (await load(given.store, id)).messages[1]?.toolCalls.map(({ phase }) => phase);
      // Asked for together: each sees what the one before has left.
      const [started, answered] = await Promise.all([
        given.store.turns.startCalls(turn, ["b"]),
        given.store.turns.toolResult(turn, { ...OUTCOME, callId: "a" }, ["c"]),
      ]);
      expect(started).toMatchObject({ outcome: "ok", events: [] });
      expect(types(answered?.events ?? [])).toEqual(["tool_complete", "message_updated"]);
      expect(await phases()).toEqual([undefined, "started", "started", "allowed"]);
      const target = { id, birth: null, load: false };
      await given.store.turns.interrupt(target, null);
      expect(await given.store.turns.startCalls(turn, ["d"])).toBeNull();
      expect(await phases()).toEqual([undefined, "started", "started", "allowed"]);
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolResults.map(({ call_id, output }) => [call_id, output])).toEqual([
        ["a", { value: 84 }],
        ["b", "outcome unknown"],
        ["c", "outcome unknown"],
        ["d", "interrupted"],
      ]);
    });

    it("keeps what was decided about calls with their step: what is refused has its result, and is left to nobody", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const refusal = { output: "There is no such tool.", isError: true };
      const calls: StepCall[] = [
        { ...CALL, id: "a", refusal },
        { ...CALL, id: "b", input: { expression: "84" } },
        { ...CALL, id: "c", effect: "unsafe", phase: "allowed" },
      ];
      await given.store.turns.stepWithCalls(turn, step(1, ""), calls, []);
      const message = (await load(given.store, id)).messages[1]!;
      expect(openCalls(message)).toEqual(calls.slice(1).map((call) => ({ ...call, text_offset: 0 })));
      expect(message.toolCalls[0]).toEqual({ ...CALL, id: "a", status: "failed", text_offset: 0 });
      expect(message.toolResults).toMatchObject([
        { call_id: "a", output: "There is no such tool.", is_error: true },
      ]);
    });

    it("keeps text that streams beyond the last finished step, without an event", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const before = await allEvents(given.store, id);
      expect(await given.store.turns.checkpoint(turn, 0, "One, ")).toBe(true);
      expect(await given.store.turns.checkpoint(turn, 5, "two, ")).toBe(true);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "One, two, " });
      expect(await allEvents(given.store, id)).toEqual(before);
      expect((await load(given.store, id)).messages[1]?.content).toBe("");
    });

    it("takes back text of a model call that was begun again", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      await given.store.turns.checkpoint(turn, 0, "first try, ");
      await given.store.turns.checkpoint(turn, 11, "much of it");
      await given.store.turns.checkpoint(turn, 0, "second");
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "second" });
      await given.store.turns.checkpoint(turn, 6, " try");
      await given.store.turns.checkpoint(turn, 3, "ret");
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "secret" });
    });

    it("needs checkpointed text no more once its step is finished", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      await given.store.turns.checkpoint(turn, 0, "Let me");
      await given.store.turns.stepWithCalls(turn, step(1, "Let me see."), [CALL], []);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "" });
      await given.store.turns.checkpoint(turn, 0, "It");
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "It" });
      await given.store.turns.complete(turn, step(2, "It is 84."));
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "" });
    });
  });
}
