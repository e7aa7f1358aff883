// Uploads files to the session as soon as they are picked, dropped or pasted in assistant-ui's composer.

import type {
  AppendMessage,
  AttachmentAdapter,
  CompleteAttachment,
  PendingAttachment,
} from "@assistant-ui/react";
import { ACCEPTED_FILES, type Attachment, type LiveSession, type UploadProgress } from "@colloquy/client";

/** Returns an adapter that uploads to this session. The first upload creates the session. */
export function attachmentAdapter(session: Pick<LiveSession, "upload">): AttachmentAdapter {
  const uploads = new Map<string, { readonly abort: AbortController; attachment: Attachment | null }>();
  let count = 0;
  return {
    accept: ACCEPTED_FILES,
    async *add({ file }): AsyncGenerator<PendingAttachment, void> {
      count += 1;
      const id = `file ${count}`;
      const common = { id, type: kindOf(file.type), name: file.name, contentType: file.type, file };
      const upload = { abort: new AbortController(), attachment: null as Attachment | null };
      uploads.set(id, upload);
      const running = (progress: number): PendingAttachment => ({
        ...common,
        status: { type: "running", reason: "uploading", progress },
      });
      yield running(0);
      try {
        const { signal } = upload.abort;
        upload.attachment = yield* withProgress(running, (onProgress) =>
          session.upload(file, { signal, onProgress }),
        );
        yield { ...common, status: { type: "requires-action", reason: "composer-send" } };
      } catch (error) {
        const { message } = error as Error;
        yield { ...common, status: { type: "incomplete", reason: "error", message } };
      }
    },
    send(pending): Promise<CompleteAttachment> {
      const uploaded = uploads.get(pending.id)?.attachment;
      if (uploaded === null || uploaded === undefined)
        return Promise.reject(new Error(`"${pending.name}" has not been uploaded.`));
      return Promise.resolve(completeAttachment(uploaded));
    },
    remove({ id }) {
      uploads.get(id)?.abort.abort();
      uploads.delete(id);
      return Promise.resolve();
    },
  };
}

/** Yields the state of an upload whenever its sent fraction, from 0 to 1, changes. Returns its result. */
async function* withProgress<State, Result>(
  stateAt: (fraction: number) => State,
  upload: (onProgress: (progress: UploadProgress) => void) => Promise<Result>,
): AsyncGenerator<State, Result> {
  let [fraction, shown, wake] = [0, 0, (): void => undefined];
  const ended = upload(({ sent, total }) => {
    fraction = sent / total;
    wake();
  }).then((result) => ({ result }));
  for (;;) {
    const changed = new Promise<null>((resolve) => (wake = () => resolve(null)));
    const end = await (shown === fraction ? Promise.race([ended, changed]) : null);
    if (end !== null) return end.result;
    shown = fraction;
    yield stateAt(fraction);
  }
}

/** Converts a file of a message to assistant-ui's type. */
export function completeAttachment({ id, name, media_type: contentType }: Attachment): CompleteAttachment {
  return { id, type: kindOf(contentType), name, contentType, content: [], status: { type: "complete" } };
}

/** Returns the ids of a message's files. */
export function attachmentIds({
  attachments = [],
}: {
  readonly attachments?: AppendMessage["attachments"] | undefined;
}): readonly string[] {
  return attachments.map(({ id }) => id);
}

function kindOf(type: string): "image" | "document" | "file" {
  if (type.startsWith("image/")) return "image";
  return type.startsWith("text/") || type === "application/pdf" ? "document" : "file";
}
