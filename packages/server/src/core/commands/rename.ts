import { define, dispositionOf } from "./command.ts";

/** Sets a title chosen by the user, which a generated title never replaces. */
export const rename = define({
  target: "session",
  needs: (_input: { readonly title: string }) => ({}),
  decide: (draft, _facts, { title }) => {
    const changed = draft.session.title !== title;
    draft.update({ title, titleSource: "user" });
    if (changed) draft.emit({ type: "title_changed", new_title: title });
    return "ok" as const;
  },
  disposition: dispositionOf,
});
