import type { JsonObject } from "../json.ts";
import { define, dispositionOf } from "./command.ts";

export interface OpenInput {
  readonly userState: JsonObject | null;
  /** Wallet to bind if the session has none. */
  readonly publicKey: string | null;
}

/** Creates a session if needed, merges user state and binds a wallet. */
export const open = define({
  target: "session",
  needs: (_input: OpenInput) => ({}),
  decide: (draft, _facts, { userState, publicKey }) => {
    if (userState !== null && draft.mergeUserState(userState) === "too_large") return "user_state_too_large";
    if (publicKey === null) return "ok";
    const bound = draft.session.publicKey;
    if (bound === null) draft.update({ publicKey, updatedAt: draft.recordedAt });
    return bound === null || bound === publicKey ? "ok" : "wallet_mismatch";
  },
  disposition: dispositionOf,
});
