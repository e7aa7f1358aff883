import type { JsonObject } from "../json.ts";
import { mergeUserState, userStateFits } from "../user-state.ts";
import type { SessionDraft } from "./draft.ts";

/** Merges and announces user state. Returns `too_large` if the result exceeds the limits; the draft is then void. */
export function applyUserState(draft: SessionDraft, patch: JsonObject): "ok" | "too_large" {
  const merged = mergeUserState(draft.session.userState, patch);
  if (merged === draft.session.userState) return "ok";
  if (merged !== null && !userStateFits(merged)) return "too_large";
  draft.update({ userState: merged });
  draft.announceState();
  return "ok";
}
