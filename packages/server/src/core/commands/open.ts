import type { JsonObject } from "../json.ts";
import { define } from "./command.ts";
import { dispositionOf } from "./disposition.ts";
import { applyUserState } from "./user-state.ts";

export interface OpenInput {
  /** Merged into the session's. */
  readonly userState: JsonObject | null;
  /** Bound if no wallet is. */
  readonly publicKey: string | null;
}

/** Makes a session exist, and merges what comes along. */
export const open = define({
  target: "accessible session",
  needs: (_input: OpenInput) => ({}),
  decide: (draft, _facts, { userState, publicKey }) => {
    if (userState !== null && applyUserState(draft, userState) === "too_large") return "user_state_too_large";
    if (publicKey === null) return "ok";
    const bound = draft.session.publicKey;
    if (bound === null) draft.update({ publicKey, updatedAt: draft.at });
    return bound === null || bound === publicKey ? "ok" : "wallet_mismatch";
  },
  disposition: dispositionOf,
});
