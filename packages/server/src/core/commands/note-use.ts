import { define, dispositionOf } from "./command.ts";

/** Records that a session was used now, as committing any draft does. */
export const noteUse = define({
  target: "incarnation",
  needs: (_input: null) => ({}),
  decide: () => "ok" as const,
  disposition: dispositionOf,
});
