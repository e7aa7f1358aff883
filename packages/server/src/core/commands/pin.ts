import { define } from "./command.ts";
import { dispositionOf } from "./disposition.ts";

/** Pins or unpins a session: lists show pinned ones first. It is no activity, so the order among the others stays. */
export const pin = define({
  target: "accessible session",
  needs: (_input: { readonly pinned: boolean }) => ({}),
  decide: (draft, _facts, { pinned }) => {
    if (draft.session.pinned !== pinned) draft.update({ pinned });
    return "ok" as const;
  },
  disposition: dispositionOf,
});
