import { isOver, liveClaim, type ActionClaim } from "../action.ts";
import type { Unblocking } from "./asking.ts";
import { define, dispositionOf } from "./command.ts";
import { expireDue } from "./expire-actions.ts";

/** Lifetime of a claim without renewal, in milliseconds on the store's clock. */
export const CLAIM_MS = 30_000;

export interface ClaimActionInput {
  readonly action: string;
  /** Token of the claim to renew; `null` for a new claim. */
  readonly renews: string | null;
  /** Token for a new claim. A retry with the same `Idempotency-Key` has the token of the current claim, and renews it. */
  readonly token: string;
}

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly claim: ActionClaim }
  /** The action has expired, or the claim of the only client that may run it has. */
  | ({ readonly kind: "expired" } & Unblocking)
  | { readonly kind: "unknown" }
  | { readonly kind: "not_claimable" }
  | { readonly kind: "decided_otherwise" }
  | { readonly kind: "cancelled" }
  /** Another claim is valid. */
  | { readonly kind: "claimed_otherwise" }
  /** The claim to renew is no longer valid. */
  | { readonly kind: "not_claimed" };

/** Lets one client run the call of an action, or renews its claim. */
export const claimAction = define({
  target: "session",
  needs: ({ action }: ClaimActionInput) => ({ openTurns: true, action }),
  decide: (draft, facts, { renews, token }): ClaimOutcome => {
    const action = facts.action();
    if (action === null) return { kind: "unknown" };
    if (action.asked.kind !== "client_tool") return { kind: "not_claimable" };
    if (action.status === "expired") return { kind: "expired", unblocked: 0 };
    if (action.status === "cancelled") return { kind: "cancelled" };
    if (action.status !== "pending") return { kind: "decided_otherwise" };
    if (isOver(action, draft.at)) return { kind: "expired", unblocked: expireDue(draft, facts.openTurns()) };
    const live = liveClaim(action, draft.at);
    if (live !== null && live.token !== renews && live.token !== token) return { kind: "claimed_otherwise" };
    if (live === null && renews !== null) return { kind: "not_claimed" };
    const expiresAt = Math.min(draft.at + CLAIM_MS, action.expiresAt);
    const claim = { token: live?.token ?? token, expiresAt };
    draft.claimAction(action, claim);
    return { kind: "claimed", claim };
  },
  disposition: ({ kind }) => (kind === "claimed" || kind === "expired" ? "commit" : dispositionOf(kind)),
});
