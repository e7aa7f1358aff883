import type { Actor } from "../audit.ts";
import { define, dispositionOf } from "./command.ts";

export interface ClaimInput {
  readonly owner: string;
  readonly by?: Actor | null;
  /** Wallets that the user has proved to hold. */
  readonly wallets: readonly string[];
}

/** Gives an idle session without an owner to a user, who must hold its wallet if it has one. */
export const claim = define({
  target: "session",
  needs: (_input: ClaimInput) => ({}),
  decide: (draft, _facts, { owner, wallets, by }) => {
    const { owner: present, status, publicKey } = draft.session;
    // Another user's session is hidden, so the present owner is this one.
    if (present !== null) return "ok";
    if (status === "processing") return "session_busy";
    if (publicKey !== null && !wallets.includes(publicKey)) return "wallet_not_proved";
    draft.changeOwner(owner);
    draft.audit("session_claimed", by);
    return "ok";
  },
  disposition: dispositionOf,
});
