// What people change about a session beside its messages: title, model, wallet, user state.

import type { SessionDraft } from "./draft.ts";

/** A title set by the user; it stays whatever a generator says later. */
export function decideRename(draft: SessionDraft, title: string): void {
  const changed = draft.session.title !== title;
  draft.update({ title, titleSource: "user" });
  if (changed) draft.emit({ type: "title_changed", new_title: title });
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

/** The session belongs to the App from here on. Answers `false`, the draft void, when it belongs to another one. */
export function decideModel(draft: SessionDraft, choice: ModelChoice): boolean {
  const before = draft.session;
  if (before.app !== null && before.app !== choice.app) return false;
  draft.update({
    app: choice.app,
    model: choice.rig,
    modelChosen: true,
    utilityModel: choice.utilityModel ?? before.utilityModel,
  });
  if (before.model !== choice.rig || (before.app ?? "default") !== choice.app) draft.announceState();
  return true;
}

/** Binds the wallet if none was bound. Answers `false` when another one is (contract section 1). */
export function decideWallet(draft: SessionDraft, publicKey: string): boolean {
  if (draft.session.publicKey === null) draft.update({ publicKey, updatedAt: draft.at });
  return draft.session.publicKey === publicKey;
}
