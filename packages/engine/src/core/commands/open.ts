import type { JsonObject } from "../json.ts";
import { mergePatch, metadataFits } from "../metadata.ts";
import { define, dispositionOf } from "./command.ts";

export interface OpenInput {
  readonly userState: JsonObject | null;
  /** Wallet to bind if the session has none. */
  readonly publicKey: string | null;
  /** Metadata to set if the session has none; absent for none. */
  readonly metadata?: JsonObject;
}

/** Creates a session if needed, merges user state, sets metadata and binds a wallet. */
export const open = define({
  target: "session",
  needs: (_input: OpenInput) => ({}),
  decide: (draft, _facts, { userState, publicKey, metadata = {} }) => {
    if (userState !== null && draft.mergeUserState(userState) === "too_large") return "user_state_too_large";
    if (Object.keys(draft.session.metadata).length === 0 && Object.keys(metadata).length > 0) {
      const set = mergePatch({}, metadata);
      if (!metadataFits(set)) return "metadata_too_large";
      draft.update({ metadata: set });
    }
    if (publicKey === null) return "ok";
    const bound = draft.session.publicKey;
    if (bound === null) draft.update({ publicKey, updatedAt: draft.recordedAt });
    return bound === null || bound === publicKey ? "ok" : "wallet_mismatch";
  },
  disposition: dispositionOf,
});
