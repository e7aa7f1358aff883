import type { DatabaseSync } from "node:sqlite";
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
import type { SessionRecord } from "../../core/session.ts";
import type { StepRecord } from "../../core/turn.ts";
import type { Synchronous } from "./calls.ts";
import { prepareHistory } from "./history.ts";
import { prepareQueue } from "./queue.ts";
import { usageText } from "../rows.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

export function prepareTurns(database: DatabaseSync, transaction: Transaction): Synchronous<TurnStore> {
  const { facts, change } = transaction;
  return {
    chat: prepareChat(database, transaction),
    interrupt: (at, target, streamed, apps) =>
      change(
        at,
        target,
        (draft) => {
          const openTurns = facts.openTurns(draft.session);
          const texts = [streamed, facts.checkpointed(openTurns, draft.session)];
          return decideInterrupt(draft, openTurns, texts, apps);
        },
        dispositionOf,
      ),
    ...prepareQueue(database, transaction),
    history: prepareHistory(database, transaction),
    ...prepareProgress(database, transaction),
  };
}

function prepareChat(database: DatabaseSync, { facts, change }: Transaction): Synchronous<TurnStore>["chat"] {
  const previous = prepare<
    [number, string],
    { readonly digest: string; readonly turn: number; readonly at: number }
  >(database, "SELECT digest, turn, at FROM idempotency_keys WHERE session_key = ? AND key = ?");
  const remember = prepare<[number, string, string, number, number]>(
    database,
    "INSERT OR REPLACE INTO idempotency_keys (session_key, key, digest, turn, at) VALUES (?, ?, ?, ?, ?)",
  );
  const interruptedBy = (session: SessionRecord) => {
    const openTurns = facts.openTurns(session);
    return { openTurns, checkpointed: facts.checkpointed(openTurns, session) };
  };
  return (at, target, input) => {
    const { idempotency } = input;
    const committed = change(
      at,
      target,
      (draft) => {
        const { session } = draft;
        const { openTurns, waits } = facts.countOpenTurns(session);
        const interrupted = input.onBusy === "interrupt" && openTurns > 0 ? interruptedBy(session) : null;
        const before = idempotency === null ? null : (previous.get(session.key, idempotency.key) ?? null);
        return decideChat(draft, { openTurns, waits, interrupted, previous: before }, input);
      },
      chatDisposition,
    );
    if (committed === null) return null;
    const { outcome, session } = committed;
    if (idempotency !== null && outcome.kind === "accepted") {
      remember.run(session.key, idempotency.key, idempotency.digest, outcome.turn, at);
    }
    return committed;
  };
}

type Progress = Pick<
  Synchronous<TurnStore>,
  "checkpoint" | "stepWithCalls" | "wait" | "toolProgress" | "startCalls" | "toolResult" | "complete" | "fail"
>;

function prepareProgress(database: DatabaseSync, transaction: Transaction): Progress {
  const { facts, changeForTurn, writingTurn } = transaction;
  const insertStep = prepare<[number, number, number, string, string, string, string]>(
    database,
    "INSERT INTO steps (session_key, turn, number, finish_reason, usage, text, parts) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const addStep = (key: number, turn: number, step: StepRecord): void => {
    const { number, finishReason, usage, text, parts } = step;
    insertStep.run(key, turn, number, finishReason, usageText(usage), text, JSON.stringify(parts));
  };
  const goBack = prepare<[number, number, number]>(
    database,
    `DELETE FROM checkpoints WHERE session_key = ? AND turn = ? AND "offset" >= ?`,
  );
  const keepText = prepare<[number, number, number, string]>(
    database,
    `INSERT INTO checkpoints (session_key, turn, "offset", text) VALUES (?, ?, ?, ?)`,
  );
  return {
    checkpoint: (at, identity, offset, text) => {
      if (writingTurn(at, identity) === null) return null;
      const { sessionKey, turn } = identity;
      goBack.run(sessionKey, turn, offset);
      keepText.run(sessionKey, turn, offset, text);
      return true;
    },
    stepWithCalls: (at, identity, step, calls, asked) =>
      changeForTurn(at, identity, (draft, open) => {
        const isNew = decideStepWithCalls(draft, open, step, calls, asked);
        if (isNew) addStep(identity.sessionKey, identity.turn, step);
      }),
    wait: (at, identity) => {
      let outcome: ReturnType<typeof decideWait> = "waits";
      const committed = changeForTurn(at, identity, (draft, open, openTurns) => {
        outcome = decideWait(draft, open, openTurns, facts.lease(draft.session));
      });
      return committed === null ? null : { ...committed, outcome };
    },
    toolProgress: (at, identity, callId, progress) =>
      changeForTurn(at, identity, (draft, open) => decideToolProgress(draft, open, callId, progress)),
    startCalls: (at, identity, callIds) =>
      changeForTurn(at, identity, (draft, open) => void decideStarts(draft, open, callIds)),
    toolResult: (at, identity, outcome, starts) =>
      changeForTurn(at, identity, (draft, open) => void decideToolResult(draft, open, outcome, starts)),
    complete: (at, identity, step) =>
      changeForTurn(at, identity, (draft, open, openTurns) => {
        decideLastStep(draft, openTurns, open, step);
        addStep(identity.sessionKey, identity.turn, step);
      }),
    fail: (at, identity, text, failure) =>
      changeForTurn(at, identity, (draft, open, openTurns) =>
        decideFailure(draft, openTurns, open, text, failure),
      ),
  };
}
