import type { SessionRecord } from "../session.ts";
import type { SessionDraft } from "./draft.ts";

/** The rig that a session talks to when its App has these models, the default first. */
export function availableModel(
  { model, modelChosen }: Pick<SessionRecord, "model" | "modelChosen">,
  models: readonly string[],
): string {
  return modelChosen && models.includes(model) ? model : (models[0] ?? model);
}

/** A rig that the App no longer has gives way to the App's default; one that was never chosen follows it. */
export function useAvailableModel(draft: SessionDraft, models: readonly string[]): void {
  const { model, modelChosen } = draft.session;
  const available = availableModel(draft.session, models);
  if (available === model) return;
  draft.update({ model: available, modelChosen: false });
  if (modelChosen) {
    draft.notify(
      "warning",
      "model_gone",
      `The model ${model} is no longer available here. The conversation goes on with ${available}.`,
    );
  }
  draft.announceState();
}
