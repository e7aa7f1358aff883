// Port methods that are commands. Callers that use `execute` need none of them: each goes with its last caller. What returns a commit returns
// the promise of `execute` itself: a further await would let a later commit of the same batch be applied first.

import type { ActionStore } from "../core/ports/driven/action-store.ts";
import type { JobStore } from "../core/ports/driven/job-store.ts";
import type { SessionStore, SessionTarget } from "../core/ports/driven/session-store.ts";
import type { CommandStore } from "../core/ports/driven/store.ts";
import type { TurnStore } from "../core/ports/driven/turn-store.ts";
import type { TurnIdentity } from "../core/turn.ts";

type SessionMethods = Pick<SessionStore, "open" | "rename" | "setModel" | "remove" | "touch">;
type TurnMethods = Omit<TurnStore, "countWaiting" | "renew" | "releaseDeadLeases" | "handBack" | "history">;
type ActionMethods = Pick<ActionStore, "decide" | "expire">;
type TitleMethods = Pick<JobStore, "finishTitle">;

/** What the adapters have of the ports themselves. */
export type SessionPort = Omit<SessionStore, keyof SessionMethods>;
export type TurnPort = Omit<TurnStore, keyof TurnMethods>;
export type ActionPort = Omit<ActionStore, keyof ActionMethods>;
export type JobPort = Omit<JobStore, keyof TitleMethods>;

export function sessionMethods({ execute }: CommandStore): SessionMethods {
  return {
    open: (to, input, apps) => execute({ kind: "open", target: { ...targetOf(to), apps }, input }),
    rename: (id, title, apps) =>
      execute({ kind: "rename", target: { ...existing(id), apps }, input: { title } }),
    setModel: (to, input) => execute({ kind: "setModel", target: targetOf(to), input }),
    remove: async (id, apps) => {
      const removed = await execute({ kind: "delete", target: { ...existing(id), apps }, input: null });
      if (removed === null) return null;
      if (removed.outcome === "other_app") return removed.outcome;
      return { life: removed.session.life, spelling: removed.session.spelling };
    },
    touch: async (used) => {
      const noted = await Promise.all(
        used.map(({ id, life }) =>
          execute({ kind: "noteUse", target: { session: id, incarnation: life }, input: null }),
        ),
      );
      return used.flatMap(({ id }, index) => (noted[index] === null ? [id] : []));
    },
  };
}

export function turnMethods({ execute, executeEach }: CommandStore): TurnMethods {
  return {
    chat: (to, input) => execute({ kind: "chat", target: targetOf(to), input }),
    interrupt: (to, streamed, apps) =>
      execute({ kind: "interrupt", target: { ...targetOf(to), apps }, input: { streamed } }),
    claim: (owner, agentMessageIds, fullProviders, models) =>
      executeEach({ kind: "claimTurns", owner, agentMessageIds, fullProviders, models }),
    checkpoint: async (turn, offset, text) =>
      (await execute({ kind: "checkpoint", target: ofTurn(turn), input: { offset, text } })) === null
        ? null
        : true,
    stepWithCalls: (turn, step, calls, asked) =>
      execute({ kind: "stepWithCalls", target: ofTurn(turn), input: { step, calls, asked } }),
    wait: (turn) => execute({ kind: "wait", target: ofTurn(turn), input: null }),
    toolProgress: (turn, callId, progress) =>
      execute({ kind: "toolProgress", target: ofTurn(turn), input: { callId, progress } }),
    startCalls: (turn, callIds) => execute({ kind: "startCalls", target: ofTurn(turn), input: { callIds } }),
    toolResult: (turn, outcome, starts = []) =>
      execute({ kind: "toolResult", target: ofTurn(turn), input: { outcome, starts } }),
    complete: (turn, step) => execute({ kind: "complete", target: ofTurn(turn), input: { step } }),
    fail: (turn, text, failure) => execute({ kind: "fail", target: ofTurn(turn), input: { text, failure } }),
  };
}

export function actionMethods({ execute, executeEach }: CommandStore): ActionMethods {
  return {
    decide: (session, action, answer, apps) =>
      execute({
        kind: "resolveAction",
        target: { ...existing(session), apps },
        input: { action, ...answer },
      }),
    expire: (limit) => executeEach({ kind: "expireActions", limit }),
  };
}

export function titleMethods({ execute }: CommandStore): TitleMethods {
  return {
    finishTitle: (session, incarnation, title) =>
      execute({ kind: "finishTitle", target: { session, incarnation }, input: { title } }),
  };
}

function targetOf({ id, birth, load }: SessionTarget) {
  return { session: id, birth, load };
}

function existing(session: string) {
  return { session, birth: null, load: false };
}

function ofTurn({ sessionId, sessionKey, turn, epoch }: TurnIdentity) {
  return { turn: { sessionId, sessionKey, turn, epoch } };
}
