import { decideWait } from "../../core/commands/asking.ts";
import { decideChat, chatDisposition } from "../../core/commands/chat.ts";
import { dispositionOf } from "../../core/commands/disposition.ts";
import { decideInterrupt } from "../../core/commands/interrupt.ts";
import {
  decideFailure,
  decideLastStep,
  decideStarts,
  decideStepWithCalls,
  decideToolProgress,
  decideToolResult,
} from "../../core/commands/turn-progress.ts";
import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import type { Calls } from "./calls.ts";
import { historyWith } from "./history.ts";
import { queueOf } from "./queue.ts";

/** `claimAgainMs`: milliseconds after which a claim looks once more at turns whose sessions somebody held. */
export function turnsOf(calls: Calls, claimAgainMs?: number): TurnStore {
  return {
    chat: chatWith(calls),
    interrupt: (target, streamed, apps) =>
      calls.change(
        target.id,
        { turns: true, streamed: true, all: target.load, epochs: 1, mayBegin: target.birth !== null },
        (transaction, at) =>
          transaction.change(
            at,
            target,
            (draft, state) =>
              decideInterrupt(draft, state.openTurns(), [streamed, state.checkpointed()], apps),
            dispositionOf,
          ),
      ),
    ...queueOf(calls, claimAgainMs),
    history: historyWith(calls),
    ...progressOf(calls),
  };
}

function chatWith(calls: Calls): TurnStore["chat"] {
  return (target, input) => {
    const { idempotency, onBusy, claim } = input;
    const interrupts = onBusy === "interrupt";
    const needs = {
      turnCount: true,
      turns: interrupts,
      streamed: interrupts,
      all: target.load,
      idempotencyKey: idempotency?.key ?? null,
      epochs: (interrupts ? 1 : 0) + (claim === null ? 0 : 1),
      mayBegin: target.birth !== null,
    };
    return calls.change(target.id, needs, (transaction, at) => {
      const committed = transaction.change(
        at,
        target,
        (draft, state) => {
          const { openTurns, waits } = state.countOpenTurns();
          const interrupted =
            interrupts && openTurns > 0
              ? { openTurns: state.openTurns(), checkpointed: state.checkpointed() }
              : null;
          const previous = state.usedKey(idempotency);
          return decideChat(draft, { openTurns, waits, interrupted, previous }, input);
        },
        chatDisposition,
      );
      if (committed === null) return null;
      const { outcome } = committed;
      if (idempotency !== null && outcome.kind === "accepted") {
        const { key, digest } = idempotency;
        transaction.rememberKey(committed.session, key, { digest, turn: outcome.turn, at });
      }
      return committed;
    });
  };
}

type Progress = Pick<
  TurnStore,
  "checkpoint" | "stepWithCalls" | "wait" | "toolProgress" | "startCalls" | "toolResult" | "complete" | "fail"
>;

function progressOf(calls: Calls): Progress {
  const needs = { turns: true };
  return {
    checkpoint: (identity, offset, text) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.writingTurn(at, identity) === null
          ? null
          : transaction.checkpoint(identity, offset, text),
      ),
    stepWithCalls: (identity, step, toolCalls, asked) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(at, identity, (draft, open) => {
          const isNew = decideStepWithCalls(draft, open, step, toolCalls, asked);
          if (isNew) transaction.changes.addStep(identity.sessionKey, identity.turn, step);
        }),
      ),
    wait: (identity) =>
      calls.change(identity.sessionId, { ...needs, epochs: 1 }, (transaction, at) => {
        let outcome: ReturnType<typeof decideWait> = "waits";
        const committed = transaction.changeForTurn(at, identity, (draft, open, openTurns, { lease }) => {
          outcome = decideWait(draft, open, openTurns, lease);
        });
        return committed === null ? null : { ...committed, outcome };
      }),
    toolProgress: (identity, callId, progress) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(at, identity, (draft, open) =>
          decideToolProgress(draft, open, callId, progress),
        ),
      ),
    startCalls: (identity, callIds) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(at, identity, (draft, open) => void decideStarts(draft, open, callIds)),
      ),
    toolResult: (identity, outcome, starts) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(
          at,
          identity,
          (draft, open) => void decideToolResult(draft, open, outcome, starts),
        ),
      ),
    complete: (identity, step) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(at, identity, (draft, open, openTurns) => {
          decideLastStep(draft, openTurns, open, step);
          transaction.changes.addStep(identity.sessionKey, identity.turn, step);
        }),
      ),
    fail: (identity, text, failure) =>
      calls.change(identity.sessionId, needs, (transaction, at) =>
        transaction.changeForTurn(at, identity, (draft, open, openTurns) =>
          decideFailure(draft, openTurns, open, text, failure),
        ),
      ),
  };
}
