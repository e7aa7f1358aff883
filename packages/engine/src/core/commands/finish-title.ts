import { define } from "./command.ts";

/** Duration of a title job's lease to the process of the chat that created it, in milliseconds. */
export const TITLE_LEASE_MS = 30_000;

/** Sets the title generated from the message of `turn`, and ends the title job. */
export const finishTitle = define({
  target: "incarnation",
  needs: (_input: { readonly title: string; readonly turn: number }) => ({ firstTurn: true }),
  decide: (draft, facts, { title, turn }) => {
    // An edit has replaced the message of the title; the title job is due again.
    const first = facts.firstTurn();
    if (first !== null && first !== turn) return "other_message";
    if (draft.session.titleSource !== "placeholder") return "has_title";
    draft.update({ title, titleSource: "generated" });
    draft.emit({ type: "title_changed", new_title: title });
    return "ok";
  },
  disposition: (outcome: "ok" | "has_title" | "other_message") => (outcome === "ok" ? "commit" : "void"),
});
