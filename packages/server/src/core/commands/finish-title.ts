import { define } from "./command.ts";

/** Duration of a title job's lease to the process of the chat that created it, in milliseconds. */
export const TITLE_LEASE_MS = 30_000;

/** Replaces the placeholder by a generated title, and ends the title job. */
export const finishTitle = define({
  target: "incarnation",
  needs: (_input: { readonly title: string }) => ({}),
  decide: (draft, _facts, { title }) => {
    if (draft.session.titleSource !== "placeholder") return "has_title";
    draft.update({ title, titleSource: "generated" });
    draft.emit({ type: "title_changed", new_title: title });
    return "ok";
  },
  disposition: (outcome: "ok" | "has_title") => (outcome === "ok" ? "commit" : "void"),
});
