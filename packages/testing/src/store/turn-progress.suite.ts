import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { openCalls, type StepCall, type ToolCallRecord } from "@colloquy/engine/internal/core/message";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  allEvents,
  everything,
  identityOf,
  load,
  record,
  startTurn,
  step,
  types,
} from "./fixtures/scenario.ts";

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
  describe("the writes of a running turn", () => {
    const given = givenStore(openStore, "all");

    it("complete it with its last step: text, status, usage and events", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const committed = await given.store.execute({
        kind: "complete",
        target: { turn },
        input: { step: step(1, "hi", { usage: USAGE }) },
      });
      expect(committed).toMatchObject({ outcome: "ok", session: { status: "idle" }, created: false });
      expect(types(committed?.events ?? [])).toEqual(["message_completed", "state_changed"]);
      const { messages, session } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "hi", status: "complete" });
      expect(session).toEqual(committed?.session);
    });

    it("store data, sources and reasoning of all steps, the latter for those who ask", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const source = (n: number) => ({ id: `${n}`, url: `https://example.com/${n}`, title: "Grüße" });
      const thinking = (text: string) => [
        { type: "reasoning", text, providerOptions: { x: { signature: "s" } } },
        { type: "text", text: "t" },
      ];
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: {
          step: { ...step(1, "", { parts: thinking("one") }), sources: [source(1)] },
          calls: [],
          actions: [],
        },
      });
      await given.store.execute({
        kind: "complete",
        target: { turn },
        input: {
          step: {
            ...step(2, "{}", { parts: thinking(" two\n") }),
            sources: [source(1), ...Array.from({ length: 60 }, (_, n) => source(n + 2))],
            data: { é: [null] },
          },
        },
      });
      const { messages } = await load(given.store, id);
      expect(messages[0]).not.toHaveProperty("extras");
      expect(messages[1]?.extras).toEqual({
        data: { é: [null] },
        sources: Array.from({ length: 50 }, (_, n) => source(n + 1)),
        has_reasoning: true,
      });
      const { turns } = given.store;
      const { incarnation } = await record(given.store, id);
      expect(await turns.reasoning(id, incarnation, [1])).toEqual([
        { turn: 1, step: 1, text: "one" },
        { turn: 1, step: 2, text: "two" },
      ]);
      expect(await turns.reasoning(id, incarnation, [2])).toEqual([]);
      expect(await turns.reasoning(id, `${incarnation}x`, [1])).toEqual([]);
    });

    it("reject a step once: its text is removed, and the turn continues", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "wrong" }]);
      const rejected = step(1, "", { usage: USAGE, parts: [{ type: "text", text: "wrong" }] });
      const reject = () =>
        given.store.execute({ kind: "rejectStep", target: { turn }, input: { step: rejected } });
      expect(types((await reject())?.events ?? [])).toEqual(["message_updated"]);
      expect(types((await reject())?.events ?? [])).toEqual([]);
      const { messages, checkpointed } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "", status: "streaming" });
      expect(checkpointed).toBe("");
      expect(await given.store.turns.history(turn, 1_000)).toMatchObject([{ steps: [rejected] }]);
    });

    it("store a step once if it is sent again because the response was lost", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "what is 12 * 7?"));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me see."), calls: [CALL], actions: [] },
      });
      const before = await everything(given.store, id);
      const again = await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me see."), calls: [CALL], actions: [] },
      });
      expect(again).toMatchObject({ outcome: "ok", events: [] });
      expect(await everything(given.store, id)).toEqual(before);
      expect(await given.store.turns.history(turn, 1_000)).toMatchObject([{ steps: [{ number: 1 }] }]);
    });

    it("store a step with its calls, then each call's one result, then the last step", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "what is 12 * 7?"));
      const asked = await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me see."), calls: [CALL], actions: [] },
      });
      expect(types(asked?.events ?? [])).toEqual(["message_updated", "tool_update"]);
      const progress = await given.store.execute({
        kind: "toolProgress",
        target: { turn },
        input: { callId: "call-1", progress: { percent: 50 } },
      });
      expect(progress?.events).toMatchObject([{ event: { type: "tool_update", progress: { percent: 50 } } }]);
      const answered = await given.store.execute({
        kind: "toolResult",
        target: { turn },
        input: { outcome: OUTCOME, starts: [] },
      });
      expect(types(answered?.events ?? [])).toEqual(["tool_complete", "message_updated"]);
      const before = await everything(given.store, id);
      const twice = await given.store.execute({
        kind: "toolResult",
        target: { turn },
        input: { outcome: { ...OUTCOME, output: "another" }, starts: [] },
      });
      expect(twice?.events).toEqual([]);
      expect(
        (
          await given.store.execute({
            kind: "toolProgress",
            target: { turn },
            input: { callId: "call-1", progress: 1 },
          })
        )?.events,
      ).toEqual([]);
      expect(
        (
          await given.store.execute({
            kind: "toolResult",
            target: { turn },
            input: { outcome: { ...OUTCOME, callId: "unknown" }, starts: [] },
          })
        )?.events,
      ).toEqual([]);
      expect(await everything(given.store, id)).toEqual(before);
      await given.store.execute({
        kind: "complete",
        target: { turn },
        input: { step: step(2, "It is 84.") },
      });
      const { messages } = await load(given.store, id);
      expect(messages[1]).toMatchObject({
        content: "Let me see.\n\nIt is 84.",
        toolCalls: [{ ...CALL, status: "complete", text_offset: "Let me see.".length }],
        toolResults: [
          { call_id: "call-1", name: "calculator", output: { value: 84 }, is_error: false, duration_ms: 3 },
        ],
      });
    });

    it("fail it with its text so far and the reason", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const failure = { code: "model_rate_limited", message: "Too many requests." } as const;
      const failed = await given.store.execute({
        kind: "fail",
        target: { turn },
        input: { text: "so far", failure },
      });
      expect(failed?.session.status).toBe("idle");
      const { messages, systemEvents } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "so far", status: "failed" });
      expect(systemEvents.map(({ item }) => [item.type, item.payload])).toEqual([
        ["error", { code: "model_rate_limited", level: "error", message: "Too many requests.", turn: 1 }],
      ]);
    });

    it("start calls that waited for a slot before they run: alone, or with the result that freed the slot", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const [now, ...later] = ["a", "b", "c", "d"].map((id): ToolCallRecord => {
        return { ...CALL, id, effect: "unsafe", ...(id !== "a" && { phase: "allowed" }) };
      });
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [now!, ...later], actions: [] },
      });
      const phases = async () =>
        (await load(given.store, id)).messages[1]?.toolCalls.map(({ phase }) => phase);
      // Concurrent calls: each sees the effect of the previous one.
      const [started, answered] = await Promise.all([
        given.store.execute({ kind: "startCalls", target: { turn }, input: { callIds: ["b"] } }),
        given.store.execute({
          kind: "toolResult",
          target: { turn },
          input: { outcome: { ...OUTCOME, callId: "a" }, starts: ["c"] },
        }),
      ]);
      expect(started).toMatchObject({ outcome: "ok", events: [] });
      expect(types(answered?.events ?? [])).toEqual(["tool_complete", "message_updated"]);
      expect(await phases()).toEqual([undefined, "started", "started", "allowed"]);
      const target = { session: id, birth: null, load: false, access: null };
      await given.store.execute({ kind: "interrupt", target, input: { streamed: null } });
      expect(
        await given.store.execute({ kind: "startCalls", target: { turn }, input: { callIds: ["d"] } }),
      ).toBeNull();
      expect(await phases()).toEqual([undefined, "started", "started", "allowed"]);
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolResults.map(({ call_id, output }) => [call_id, output])).toEqual([
        ["a", { value: 84 }],
        ["b", "outcome unknown"],
        ["c", "outcome unknown"],
        ["d", "interrupted"],
      ]);
    });

    it("store policy decisions with the step: a refused call has its result and never runs", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const refusal = { output: "There is no such tool.", isError: true };
      const calls: StepCall[] = [
        { ...CALL, id: "a", refusal },
        { ...CALL, id: "b", input: { expression: "84" } },
        { ...CALL, id: "c", effect: "unsafe", phase: "allowed" },
      ];
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls, actions: [] },
      });
      const message = (await load(given.store, id)).messages[1]!;
      expect(openCalls(message)).toEqual(calls.slice(1).map((call) => ({ ...call, text_offset: 0 })));
      expect(message.toolCalls[0]).toEqual({ ...CALL, id: "a", status: "failed", text_offset: 0 });
      expect(message.toolResults).toMatchObject([
        { call_id: "a", output: "There is no such tool.", is_error: true },
      ]);
    });

    it("store streaming text beyond the last finished step, without an event", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      const before = await allEvents(given.store, id);
      expect(await given.store.turns.checkpoint([{ turn, offset: 0, text: "One, " }])).toEqual([true]);
      expect(await given.store.turns.checkpoint([{ turn, offset: 5, text: "two, " }])).toEqual([true]);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "One, two, " });
      expect(await allEvents(given.store, id)).toEqual(before);
      expect((await load(given.store, id)).messages[1]?.content).toBe("");
    });

    it("remove the checkpointed text of a model call that was started again", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "first try, " }]);
      await given.store.turns.checkpoint([{ turn, offset: 11, text: "much of it" }]);
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "second" }]);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "second" });
      await given.store.turns.checkpoint([{ turn, offset: 6, text: " try" }]);
      await given.store.turns.checkpoint([{ turn, offset: 3, text: "ret" }]);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "secret" });
    });

    it("drop the checkpointed text once its step is finished", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "hello"));
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "Let me" }]);
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me see."), calls: [CALL], actions: [] },
      });
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "" });
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "It" }]);
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "It" });
      await given.store.execute({
        kind: "complete",
        target: { turn },
        input: { step: step(2, "It is 84.") },
      });
      expect(await load(given.store, id)).toMatchObject({ checkpointed: "" });
    });
  });
}
