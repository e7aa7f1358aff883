// What people change about a session beside its messages: title, model, wallet, user state.

import type { JsonObject } from "../json.ts";
import { countsAs } from "../session.ts";
import { applyUserState } from "./chat.ts";
import type { SessionDraft } from "./draft.ts";

/** How long a title job belongs to the process that took the chat which created it, in milliseconds. */
export const TITLE_LEASE_MS = 30_000;

/** What may come along when a session is opened: user state to merge, a wallet to bind. Unless `ok`, the draft is void. `apps` as `countsAs` has them. */
export function decideOpen(
  draft: SessionDraft,
  input: { readonly userState: JsonObject | null; readonly publicKey: string | null },
  apps?: readonly string[],
): "ok" | "user_state_too_large" | "wallet_mismatch" | "other_app" {
  if (!countsAs(draft.session, apps)) return "other_app";
  if (input.userState !== null && applyUserState(draft, input.userState) === "too_large") {
    return "user_state_too_large";
  }
  return input.publicKey === null || decideWallet(draft, input.publicKey) ? "ok" : "wallet_mismatch";
}

/** A title set by the user; it stays whatever a generator says later. Unless `ok`, the draft is void. `apps` as `countsAs` has them. */
export function decideRename(
  draft: SessionDraft,
  title: string,
  apps?: readonly string[],
): "ok" | "other_app" {
  if (!countsAs(draft.session, apps)) return "other_app";
  const changed = draft.session.title !== title;
  draft.update({ title, titleSource: "user" });
  if (changed) draft.emit({ type: "title_changed", new_title: title });
  return "ok";
}

/** A generated title; it only ever replaces the placeholder. */
export function decideGeneratedTitle(draft: SessionDraft, title: string): void {
  if (draft.session.titleSource !== "placeholder") return;
  draft.update({ title, titleSource: "generated" });
  draft.emit({ type: "title_changed", new_title: title });
}

export interface ModelChoice {
  readonly app: string;
  readonly rig: string;
  /** `null` leaves the utility model as it is. */
  readonly utilityModel: string | null;
}

/** Stores the choice with the App that it was validated against; only a chat binds. Unless `ok`, the session belongs to another App, and the draft is void. */
export function decideModel(draft: SessionDraft, choice: ModelChoice): "ok" | "app_mismatch" {
  const before = draft.session;
  if (before.app !== null && before.app !== choice.app) return "app_mismatch";
  const wasOfApp = before.app !== null || before.modelApp === choice.app;
  draft.update({
    model: choice.rig,
    modelChosen: true,
    modelApp: choice.app,
    utilityModel: choice.utilityModel ?? (wasOfApp ? before.utilityModel : null),
  });
  if (before.model !== choice.rig) draft.announceState();
  return "ok";
}

/** Binds the wallet if none was bound. Answers `false` when another one is (contract section 1). */
export function decideWallet(draft: SessionDraft, publicKey: string): boolean {
  if (draft.session.publicKey === null) draft.update({ publicKey, updatedAt: draft.at });
  return draft.session.publicKey === publicKey;
}
