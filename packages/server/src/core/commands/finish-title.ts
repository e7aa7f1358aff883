import { define } from "./command.ts";

/** How long a title job belongs to the process that took the chat which created it, in milliseconds. */
export const TITLE_LEASE_MS = 30_000;

/** Sets a generated title, which only ever replaces the placeholder, and ends the title job. */
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
