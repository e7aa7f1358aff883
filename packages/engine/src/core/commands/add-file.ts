import { type NewFile, UNUSED_FILE_MS } from "../file.ts";
import { define, dispositionOf } from "./command.ts";

/**
 * Adds an uploaded file, whose bytes must be durable, to a session. The outcome is `file_exists` if the session has
 * the file with other bytes in the file store: those of the upload are then unused.
 */
export const addFile = define({
  target: "session",
  needs: ({ id }: NewFile) => ({ files: [id] }),
  decide: (draft, facts, file): "ok" | "file_exists" | "app_mismatch" => {
    if (draft.session.app !== null && draft.session.app !== file.app) return "app_mismatch";
    const [known] = facts.files();
    if (known !== undefined) {
      // A repeated upload: extend the file's expiry.
      if (known.dueAt !== null)
        draft.changedFiles.set(known.id, { ...known, dueAt: draft.at + UNUSED_FILE_MS });
      return known.blob === file.blob ? "ok" : "file_exists";
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
