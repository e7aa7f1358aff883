import { define, dispositionOf } from "./command.ts";

export interface ModelChoice {
  readonly app: string;
  readonly rig: string;
  /** `null` leaves the utility model unchanged. */
  readonly utilityModel: string | null;
}

/** Stores the choice with the App that it was validated against. Does not bind the session to the App; only a chat does. */
export const setModel = define({
  target: "session",
  needs: (_input: ModelChoice) => ({}),
  decide: (draft, _facts, { app, rig, utilityModel }) => {
    const before = draft.session;
    if (before.app !== null && before.app !== app) return "app_mismatch";
    const wasOfApp = before.app !== null || before.modelApp === app;
    draft.update({
      model: rig,
      modelChosen: true,
      modelApp: app,
      utilityModel: utilityModel ?? (wasOfApp ? before.utilityModel : null),
    });
    if (before.model !== rig) draft.announceState();
    return "ok";
  },
  disposition: dispositionOf,
});
