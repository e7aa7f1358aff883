// Uploads files to the session as soon as they are picked, dropped or pasted in assistant-ui's composer.

import type {
  AppendMessage,
  AttachmentAdapter,
  CompleteAttachment,
  PendingAttachment,
} from "@assistant-ui/react";
import { ACCEPTED_FILES, type Attachment, type LiveSession } from "@colloquy/client";

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
      yield { ...common, status: { type: "running", reason: "uploading", progress: 0 } };
      try {
        upload.attachment = await session.upload(file, { signal: upload.abort.signal });
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
