import { define } from "./command.ts";
import { dispositionOf } from "./disposition.ts";

/** Records that a session was used now, as committing any draft does. */
export const noteUse = define({
  target: "incarnation",
  needs: (_input: null) => ({}),
  decide: () => "ok" as const,
  disposition: dispositionOf,
});
