import { define, dispositionOf } from "./command.ts";

/** Records the use of a session, which committing any draft does. */
export const noteUse = define({
  target: "incarnation",
  needs: (_input: null) => ({}),
  decide: () => "ok" as const,
  disposition: dispositionOf,
});
