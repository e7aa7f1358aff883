import type { JsonObject } from "../json.ts";
import { mergePatch, metadataFits } from "../metadata.ts";
import { define, dispositionOf } from "./command.ts";

export interface EditInput {
  /** New title, which generated titles do not overwrite. If absent, the title does not change. */
  readonly title?: string | undefined;
  /**
   * Merge patch (RFC 7396) for the metadata; `null` removes all of it. If absent, the metadata does not
   * change.
   */
  readonly metadata?: JsonObject | null | undefined;
  /** If absent, the session stays as it is. */
  readonly archived?: boolean | undefined;
}

/** Changes title, metadata and archive of a session atomically. Only a new title counts as activity. */
export const edit = define({
  target: "session",
  needs: (_input: EditInput) => ({}),
  decide: (draft, _facts, { title, metadata: patch, archived }) => {
    if (patch !== undefined) {
      const metadata = patch === null ? {} : mergePatch(draft.session.metadata, patch);
      if (!metadataFits(metadata)) return "metadata_too_large";
      draft.update({ metadata });
    }
    if (archived !== undefined && archived !== draft.session.archived) draft.update({ archived });
    if (title !== undefined) {
      const changed = draft.session.title !== title;
      draft.update({ title, titleSource: "user" });
      if (changed) draft.emit({ type: "title_changed", new_title: title });
    }
    return "ok";
  },
  disposition: dispositionOf,
});
