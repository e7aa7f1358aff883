import type { Actor } from "../audit.ts";
import { define, dispositionOf } from "./command.ts";

export interface TransferInput {
  /** Transfers the session only if this pseudonym owns it. */
  readonly from?: string;
  /** Pseudonym of the new owner; with `null`, anyone who knows the session's id may use it. */
  readonly owner: string | null;
  /** Id of the new owner's wallet, to which a session that is bound to its address is fixed. */
  readonly walletId?: string;
  /** Pseudonym of the owner in the audit trail. */
  readonly subject?: string | null;
  readonly by?: Actor | null;
}

/** Gives a session to another user, for operators and for contract wallets whose ids had no chain. */
export const transfer = define({
  target: "session",
  needs: (_input: TransferInput) => ({}),
  decide: (draft, _facts, { from, owner, walletId, subject, by }) => {
    const { owner: present } = draft.session;
    if (present === owner || (from !== undefined && present !== from)) return "ok" as const;
    draft.changeOwner(owner);
    if (walletId !== undefined) draft.fixWallet([walletId]);
    draft.audit("session_transferred", by, { to: subject ?? null });
    return "ok" as const;
  },
  disposition: dispositionOf,
});
