import { define, dispositionOf } from "./command.ts";

/** Pins or unpins a session: lists show pinned ones first. This does not count as activity. */
export const pin = define({
  target: "session",
  needs: (_input: { readonly pinned: boolean }) => ({}),
  decide: (draft, _facts, { pinned }) => {
    if (draft.session.pinned !== pinned) draft.update({ pinned });
    return "ok" as const;
  },
  disposition: dispositionOf,
});
