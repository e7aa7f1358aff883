// What can still be answered while nothing can be written: reads go on, also those that would note a use on the way.

import type { DatabaseSync } from "node:sqlite";
import { dispositionOf } from "../../core/commands/disposition.ts";
import { decideOpen } from "../../core/commands/settings.ts";
import type { SessionStore } from "../../core/ports/driven/session-store.ts";
import type { Synchronous } from "./calls.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

type Answer<M extends keyof SessionStore> = (
  ...parameters: Parameters<Synchronous<SessionStore>[M]>
) => { readonly value: ReturnType<Synchronous<SessionStore>[M]> } | null;

interface AnswersWithoutWriting {
  /** Opens a session that exists and that the input would not change. */
  readonly "sessions.open": Answer<"open">;
  /** Looks which sessions are gone, without noting the use of the others. */
  readonly "sessions.touch": Answer<"touch">;
}

export function prepareAnswersWithoutWriting(
  database: DatabaseSync,
  { facts, draft }: Transaction,
): AnswersWithoutWriting {
  const exists = prepare<[string, string], object>(
    database,
    "SELECT 1 FROM sessions WHERE id = ? AND life = ?",
  );
  return {
    "sessions.open": (at, target, input, apps) => {
      const session = facts.sessionById(target.id);
      if (session === null) return target.birth === null ? { value: null } : null;
      const change = draft(session, at);
      const outcome = decideOpen(change, input, apps);
      if (outcome === "ok" && change.session !== session) return null;
      const loaded = target.load && dispositionOf(outcome) !== "hidden" ? facts.load(session) : null;
      return { value: { outcome, session, created: false, events: [], loaded } };
    },
    "sessions.touch": (_at, used) => ({
      value: used.filter(({ id, life }) => exists.get(id, life) === undefined).map(({ id }) => id),
    }),
  };
}
