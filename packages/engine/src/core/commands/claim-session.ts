import type { Actor } from "../audit.ts";
import { define, dispositionOf } from "./command.ts";

export interface ClaimInput {
  readonly owner: string;
  readonly by?: Actor | null;
  /** Ids of the wallets that the user has proved to hold. */
  readonly wallets: readonly string[];
}

/** Makes a user the owner of an idle session without one. If the session has a wallet, the user must have proved it. */
export const claim = define({
  target: "session",
  needs: (_input: ClaimInput) => ({}),
  decide: (draft, _facts, { owner, wallets, by }) => {
    const { owner: present, status, publicKey } = draft.session;
    // A session of another user is hidden, so the owner is this user.
    if (present !== null) return "ok";
    if (status === "processing") return "session_busy";
    if (publicKey !== null && !draft.fixWallet(wallets)) return "wallet_not_proved";
    draft.changeOwner(owner);
    draft.audit("session_claimed", by);
    return "ok";
  },
  disposition: dispositionOf,
});
