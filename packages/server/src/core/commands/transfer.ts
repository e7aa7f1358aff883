import type { Actor } from "../audit.ts";
import { define, dispositionOf } from "./command.ts";

export interface TransferInput {
  /** Pseudonym of the new owner; with `null`, anyone who knows the session's id may use it. */
  readonly owner: string | null;
  /** Pseudonym of the owner in the audit trail. */
  readonly subject?: string | null;
  readonly by?: Actor | null;
}

/** Gives a session to another user, for operators. */
export const transfer = define({
  target: "session",
  needs: (_input: TransferInput) => ({}),
  decide: (draft, _facts, { owner, subject, by }) => {
    if (draft.session.owner === owner) return "ok" as const;
    draft.changeOwner(owner);
    draft.audit("session_transferred", by, { to: subject ?? null });
    return "ok" as const;
  },
  disposition: dispositionOf,
});
