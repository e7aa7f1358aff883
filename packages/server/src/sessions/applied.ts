// The result of a commit, and the errors for sessions without access.

import { OtherApp, unknownSession, walletNotProved } from "../core/errors.ts";
import { hiddenFrom, type Hidden, type Refused, type SessionAccess } from "../core/session-access.ts";
import type { SessionRecord } from "../core/session.ts";
import type { Session } from "./session.ts";

/** A commit that was applied, with the session after it; `null` if the session is not in memory. */
export interface Applied<Outcome> {
  readonly outcome: Outcome;
  readonly record: SessionRecord;
  readonly created: boolean;
  readonly session: Session | null;
}

/** Returns why the request has no access to the session in memory; `null` if it has. */
export function hiddenInMemory(
  { boundApp: app, owner }: Session,
  access: SessionAccess | null,
): Hidden | null {
  return hiddenFrom({ app, owner }, access);
}

/** @throws NotFound if the session belongs to another user; OtherApp if the request may not use its App */
export function assertShown(session: Session, access: SessionAccess): void {
  const hidden = hiddenInMemory(session, access);
  if (hidden !== null) throw hiddenError(hidden);
}

export function hiddenError(reason: Refused): Error {
  if (reason === "wallet_not_proved") return walletNotProved();
  return reason === "other_owner" ? unknownSession() : new OtherApp();
}

/** Returns why a command was refused; `null` if it was not. */
export function refusedIn({ outcome }: Applied<unknown>): Refused | null {
  return outcome === "other_app" || outcome === "other_owner" || outcome === "wallet_not_proved"
    ? outcome
    : null;
}
