import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { PartialText } from "@colloquy/engine/internal/core/commands/command";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { TurnIdentity } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  existing,
  open,
  remove,
  chat,
  startTurn,
  identityOf,
  step,
  complete,
  claimTurns,
  load,
  everything,
  types,
} from "./fixtures/scenario.ts";

export function describeInterrupt(openStore: OpenStore): void {
  describe("interrupt", () => {
    const given = givenStore(openStore, "all, without sessions");
    const interrupt = async (id: string, streamed: PartialText | null = null) => {
      const committed = await given.store.execute({
        kind: "interrupt",
        target: existing(id),
        input: { streamed },
      });
      expect(committed).not.toBeNull();
      return committed!;
    };

    it("ends running and queued turns in one transaction and raises the epoch", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      await chat(given.store, id, "two");
      const { session, events } = await interrupt(id);
      expect(session.status).toBe("interrupted");
      expect(session.epoch).toBeGreaterThan(turn.epoch);
      expect(types(events)).toEqual([
        "message_completed",
        "message_completed",
        "system_event",
        "state_changed",
      ]);
      expect((await load(given.store, id)).messages.map(({ content, status }) => [content, status])).toEqual([
        ["one", "complete"],
        ["", "interrupted"],
        ["two", "interrupted"],
      ]);
    });

    it("changes nothing when repeated", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      await interrupt(id);
      const before = await everything(given.store, id);
      expect((await interrupt(id)).events).toEqual([]);
      expect(await everything(given.store, id)).toEqual(before);
    });

    it("changes nothing on an idle session", async () => {
      const id = randomUUID();
      await complete(given.store, await startTurn(given.store, id, "one"), "answer");
      const before = await everything(given.store, id);
      expect((await interrupt(id)).events).toEqual([]);
      expect(await everything(given.store, id)).toEqual(before);
    });

    it("creates the session if permitted", async () => {
      const id = randomUUID();
      const committed = await given.store.execute({
        kind: "interrupt",
        target: target(id, true),
        input: { streamed: null },
      });
      expect(committed).toMatchObject({ created: true, session: { status: "idle" }, events: [] });
      expect(committed?.loaded).toEqual(await load(given.store, id));
    });

    it("stores the text that the streaming process passes, which is newer than the checkpoint", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 0, text: "some" }]);
      await interrupt(id, { messageId: turn.agentMessage.id, epoch: turn.epoch, text: "some more" });
      expect((await load(given.store, id)).messages[1]).toMatchObject({ content: "some more" });
    });

    it("stores the checkpointed text if no process passes newer text", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      const call = { id: "c", name: "t", arguments: {}, status: "running", effect: "read", step: 1 } as const;
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "First step."), calls: [call], actions: [] },
      });
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 0, text: "and " }]);
      await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 4, text: "more" }]);
      await interrupt(id, {
        messageId: turn.agentMessage.id,
        epoch: turn.epoch - 1,
        text: "of an older run",
      });
      const { messages, checkpointed } = await load(given.store, id);
      expect(messages[1]).toMatchObject({ content: "First step.\n\nand more", status: "interrupted" });
      expect(messages[1]?.toolCalls).toMatchObject([{ status: "interrupted" }]);
      expect(messages[1]?.toolResults).toMatchObject([{ call_id: "c", output: "interrupted" }]);
      expect(checkpointed).toBe("");
    });

    it("lets the next message start at once", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      await interrupt(id);
      const turn = await startTurn(given.store, id, "two");
      await complete(given.store, turn, "answer");
      expect((await load(given.store, id)).session.status).toBe("idle");
    });

    it("makes its turn unclaimable, and its lease neither renewable nor releasable", async () => {
      const id = randomUUID();
      const { epoch } = await startTurn(given.store, id, "one");
      const waiting = randomUUID();
      await open(given.store, target(waiting));
      await chat(given.store, waiting, "waits");
      await interrupt(id);
      await interrupt(waiting);
      expect(await claimTurns(given.store, { owner: "other", count: 2 })).toEqual([]);
      expect(await given.store.turns.renew("owner", [epoch], 1000)).toEqual({ renewed: [], busy: [] });
      await given.clock.advance(60_000);
      expect(await given.store.turns.releaseDeadLeases("other")).toBe(0);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
    });

    it.each(["interrupt", "remove", "complete", "fail", "claim by another owner"])(
      "rejects later writes of its turn, like every other end of a turn: %s",
      async (end) => {
        const id = randomUUID();
        const started = await startTurn(given.store, id, "one");
        const turn = identityOf(started);
        if (end === "interrupt") await interrupt(id);
        if (end === "remove") await remove(given.store, existing(id));
        if (end === "complete") await complete(given.store, turn, "answer");
        if (end === "fail")
          await given.store.execute({
            kind: "fail",
            target: { turn },
            input: { text: "", failure: { code: "model_error", message: "m" } },
          });
        if (end === "claim by another owner") {
          await given.store.turns.releaseDeadLeases("other");
          await claimTurns(given.store, { owner: "other" });
        }
        if (end === "remove") await startTurn(given.store, id, "of the next life");
        const before = await everything(given.store, id);
        await expectRefused(given.store, turn);
        expect(await given.store.turns.checkpoint([{ turn, offset: 0, text: "late" }])).toEqual([false]);
        expect(await everything(given.store, id)).toEqual(before);
        await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      },
    );

    it("rejects the identity of another turn, epoch or session", async () => {
      const id = randomUUID();
      const first = await startTurn(given.store, id, "one");
      await complete(given.store, first, "answer");
      const turn = identityOf(await startTurn(given.store, id, "two"));
      const before = await everything(given.store, id);
      await expectRefused(given.store, { ...turn, number: 1 });
      await expectRefused(given.store, { ...turn, number: 3 });
      await expectRefused(given.store, { ...turn, epoch: turn.epoch - 1 });
      await expectRefused(given.store, { ...turn, epoch: turn.epoch + 1 });
      await expectRefused(given.store, { ...turn, sessionKey: turn.sessionKey + 1_000_000 });
      await expectRefused(given.store, identityOf(first));
      const late = [
        { ...turn, epoch: turn.epoch - 1 },
        { ...turn, epoch: turn.epoch + 1 },
        { ...turn, sessionKey: turn.sessionKey + 1_000_000 },
        identityOf(first),
      ].map((identity) => ({ turn: identity, offset: 0, text: "late" }));
      expect(await given.store.turns.checkpoint(late)).toEqual(late.map(() => false));
      expect(await everything(given.store, id)).toEqual(before);
      await complete(given.store, turn, "may write");
    });
  });
}

/** Expects that every command and method that takes a turn identity does nothing. */
async function expectRefused(store: Store, identity: TurnIdentity): Promise<void> {
  const outcome = { callId: "c", output: 1, isError: false, durationMs: 1 };
  const failure = { code: "model_error", message: "m" } as const;
  expect(await store.turns.history(identity, 1000)).toBeNull();
  expect(
    await store.execute({
      kind: "stepWithCalls",
      target: { turn: identity },
      input: { step: step(1, "late"), calls: [], actions: [] },
    }),
  ).toBeNull();
  expect(
    await store.execute({
      kind: "toolProgress",
      target: { turn: identity },
      input: { callId: "c", progress: 1 },
    }),
  ).toBeNull();
  expect(
    await store.execute({ kind: "toolResult", target: { turn: identity }, input: { outcome, starts: [] } }),
  ).toBeNull();
  expect(
    await store.execute({ kind: "complete", target: { turn: identity }, input: { step: step(1, "late") } }),
  ).toBeNull();
  expect(
    await store.execute({ kind: "fail", target: { turn: identity }, input: { text: "late", failure } }),
  ).toBeNull();
}
