import { define, dispositionOf } from "./command.ts";

/** Ends the incarnation and removes everything that belongs to it. */
export const deleteSession = define({
  target: "accessible session",
  needs: (_input: null) => ({ removal: true }),
  decide: (draft) => {
    draft.isRemoved = true;
    return "ok" as const;
  },
  disposition: dispositionOf,
});
