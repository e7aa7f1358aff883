import { define } from "./command.ts";
import { dispositionOf } from "./disposition.ts";

/** Ends the incarnation and removes everything that belongs to it. */
export const deleteSession = define({
  target: "accessible session",
  needs: (_input: null) => ({ removal: true }),
  decide: (draft) => {
    draft.remove();
    return "ok" as const;
  },
  disposition: dispositionOf,
});
