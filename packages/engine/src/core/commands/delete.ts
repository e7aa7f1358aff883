import type { Actor } from "../audit.ts";
import { define, dispositionOf } from "./command.ts";

/** Ends the incarnation and removes everything that belongs to it. */
export const deleteSession = define({
  target: "session",
  needs: (_by: Actor | null) => ({ removal: true }),
  decide: (draft, _facts, by) => {
    draft.audit("session_deleted", by);
    draft.isRemoved = true;
    return "ok" as const;
  },
  disposition: dispositionOf,
});
