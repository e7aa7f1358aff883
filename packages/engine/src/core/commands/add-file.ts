import { type NewFile, UNUSED_FILE_MS } from "../file.ts";
import { define, dispositionOf } from "./command.ts";

/**
 * Adds an uploaded file, whose bytes must be durable, to a session. Has no effect if the session has the
 * file.
 */
export const addFile = define({
  target: "session",
  needs: ({ id }: NewFile) => ({ files: [id] }),
  decide: (draft, facts, file): "ok" | "app_mismatch" => {
    if (draft.session.app !== null && draft.session.app !== file.app) return "app_mismatch";
    const [known] = facts.files();
    if (known !== undefined) {
      // A repeated upload: extend the file's expiry. The new blob stays unused and is cleaned up.
      if (known.dueAt !== null)
        draft.changedFiles.set(known.id, { ...known, dueAt: draft.at + UNUSED_FILE_MS });
      return "ok";
    }
    draft.addedFiles.push({
      ...file,
      createdAt: draft.at,
      position: null,
      dueAt: draft.at + UNUSED_FILE_MS,
    });
    return "ok";
  },
  disposition: dispositionOf,
});
