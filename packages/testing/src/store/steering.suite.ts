import { randomUUID } from "node:crypto";
import type { StartedTurn } from "@colloquy/engine/internal/core/turn";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  callOf,
  chat,
  chatInput,
  chatWith,
  complete,
  everything,
  existing,
  identityOf,
  messagesOf,
  startTurn,
  step,
} from "./fixtures/scenario.ts";

const STEER = { onBusy: "steer" } as const;

export function describeSteering(openStore: OpenStore): void {
  describe("steering messages", () => {
    const given = givenStore(openStore, "all");

    const withCall = (turn: StartedTurn, number: number) =>
      given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(number, `step ${number}`), calls: [callOf(`c${number}`)], actions: [] },
      });
    const result = (turn: StartedTurn, number: number) =>
      given.store.execute({
        kind: "toolResult",
        target: { turn: identityOf(turn) },
        input: { outcome: { callId: `c${number}`, output: 1, isError: false, durationMs: 1 }, starts: [] },
      });
    const begin = (turn: StartedTurn, number: number, agentMessageId = randomUUID()) =>
      given.store.execute({
        kind: "beginStep",
        target: { turn: identityOf(turn) },
        input: { step: number, agentMessageId },
      });
    const turnsOf = async (id: string) =>
      ((await given.store.admin.turns(id, 1_000, 100)) ?? []).map(({ turn }) => turn).toReversed();

    /** A turn that has read a message before its second step. */
    async function steered(id: string) {
      const turn = await startTurn(given.store, id, "one");
      await withCall(turn, 1);
      await chat(given.store, id, "two", { ...STEER, idempotency: { key: "k", digest: "two" } });
      expect((await result(turn, 1))?.outcome).toBe("steered");
      const begun = await begin(turn, 2);
      return { turn, begun };
    }

    it("move into the turn that reads them, with their idempotency keys, and leave no turn behind", async () => {
      const id = randomUUID();
      const { begun } = await steered(id);
      expect((await turnsOf(id)).map(({ number, state }) => [number, state])).toEqual([[1, "running"]]);
      const messages = await messagesOf(given.store, id);
      expect(messages.map(({ turn, role, status, extras }) => [turn, role, status, extras])).toEqual([
        [1, "user", "complete", undefined],
        [1, "assistant", "complete", { steps: { from: 1, to: 1 } }],
        [1, "user", "complete", { steering: { status: "read", step: 2 } }],
        [1, "assistant", "streaming", { steps: { from: 2 } }],
      ]);
      expect(begun?.outcome).toEqual(messages[3]);
      const again = await chat(given.store, id, "two", { idempotency: { key: "k", digest: "two" } });
      expect(again.outcome).toEqual({ kind: "replayed", turn: 1 });
    });

    it("are in the history of the turn, and of later turns, with all results", async () => {
      const id = randomUUID();
      const { turn } = await steered(id);
      await withCall(turn, 2);
      await result(turn, 2);
      const expected = {
        number: 1,
        userMessage: { content: "one" },
        steered: [
          { content: "step 1", toolResults: [{ call_id: "c1" }] },
          { content: "two", extras: { steering: { step: 2 } } },
        ],
        agentMessage: { content: "step 2", toolResults: [{ call_id: "c2" }] },
        steps: [{ number: 1 }, { number: 2 }],
      };
      expect(await given.store.turns.history(identityOf(turn), 10_000)).toMatchObject([expected]);
      const last = step(3, "done");
      await given.store.execute({
        kind: "complete",
        target: { turn: identityOf(turn) },
        input: { step: last },
      });
      const next = await startTurn(given.store, id, "three");
      expect(next.number).toBe(3);
      expect(await given.store.turns.history(identityOf(next), 10_000)).toMatchObject([
        { ...expected, agentMessage: { content: "step 2\n\ndone" }, steps: [{}, {}, {}] },
        { number: 3 },
      ]);
      // Messages that were read count towards the limit.
      expect(await given.store.turns.history(identityOf(next), 20)).toHaveLength(1);
    });

    it("are visible to later commands of the same transaction", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      await withCall(turn, 1);
      const [, , begun, again, steering, second] = await Promise.all([
        chat(given.store, id, "two", { ...STEER, idempotency: { key: "k", digest: "two" } }),
        result(turn, 1),
        begin(turn, 2),
        chat(given.store, id, "two", { idempotency: { key: "k", digest: "two" } }),
        chat(given.store, id, "three", STEER),
        withCall(turn, 2),
      ]);
      expect(begun?.outcome).toMatchObject({ extras: { steps: { from: 2 } } });
      expect(again.outcome).toEqual({ kind: "replayed", turn: 1 });
      expect(steering.outcome).toMatchObject({ kind: "accepted", turn: 3, runnable: false });
      expect(second?.outcome).toBe("steered");
      expect((await turnsOf(id)).map(({ number }) => number)).toEqual([1, 3]);
    });

    it("free their place in the queue", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      await withCall(turn, 1);
      await chat(given.store, id, "two", { ...STEER, maxQueued: 1 });
      const refused = { kind: "rejected", reason: "queue_full" };
      expect((await chat(given.store, id, "three", { maxQueued: 1 })).outcome).toEqual(refused);
      await result(turn, 1);
      await begin(turn, 2);
      expect((await chat(given.store, id, "three", { maxQueued: 1 })).outcome.kind).toBe("accepted");
    });

    it("are replaced together with all later messages, while earlier steps remain", async () => {
      const id = randomUUID();
      const { turn } = await steered(id);
      await withCall(turn, 2);
      await result(turn, 2);
      await given.store.execute({
        kind: "complete",
        target: { turn: identityOf(turn) },
        input: { step: step(3, "done") },
      });
      const [, , read] = await messagesOf(given.store, id);
      const replaces = read?.id ?? "";
      const replaced = await chatWith(given.store, existing(id), chatInput("zwei", { replaces }));
      expect(replaced.outcome.kind).toBe("accepted");
      const { messages, session } = await everything(given.store, id);
      expect(messages.map(({ turn: number, content, status }) => [number, content, status])).toEqual([
        [1, "one", "complete"],
        [1, "step 1", "interrupted"],
        [3, "zwei", "queued"],
      ]);
      expect(messages[1]?.extras).toBeUndefined();
      expect((await turnsOf(id))[0]).toMatchObject({ number: 1, state: "interrupted", steps: 1 });
      const [claimed] = await given.store.executeEach({
        kind: "claimTurns",
        owner: "owner",
        agentMessageIds: [randomUUID()],
        fullProviders: [],
        models: {},
      });
      const again = claimed?.outcome;
      expect(again?.sessionId).toBe(session.id);
      expect(await given.store.turns.history(identityOf(again!), 10_000)).toMatchObject([
        { number: 1, agentMessage: { content: "step 1" }, steps: [{ number: 1 }] },
        { number: 3 },
      ]);
      await complete(given.store, again!, "answer");
    });

    it("are read by a turn when it starts, and are in its history", async () => {
      const id = randomUUID();
      await chat(given.store, id, "one");
      await chat(given.store, id, "two", STEER);
      const [claimed] = await given.store.executeEach({
        kind: "claimTurns",
        owner: "owner",
        agentMessageIds: [randomUUID()],
        fullProviders: [],
        models: {},
      });
      const turn = claimed!.outcome!;
      expect(turn).toMatchObject({ sessionId: id, number: 1, agentMessage: { position: 3 } });
      expect(await given.store.turns.history(identityOf(turn), 10_000)).toMatchObject([
        { number: 1, steered: [{ content: "two", extras: { steering: { status: "read", step: 1 } } }] },
      ]);
      await complete(given.store, turn, "answer");
    });
  });
}
