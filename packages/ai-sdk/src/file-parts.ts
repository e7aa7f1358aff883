// Converts between `file` parts of the AI SDK and files of sessions.

import type { Attachment } from "@colloquy/protocol";
import type { FileUIPart } from "ai";
import {
  decodeDataUrl,
  InvalidRequest,
  type JsonObject,
  type ProtocolConversation,
  sentFileId,
  storedFileId,
  storedFileUrl,
} from "@colloquy/server/protocol";

/** A file of a message: one of the session, or bytes to store. */
export type SentFile =
  | { readonly id: string }
  | { readonly content: Buffer; readonly mediaType: string; readonly name: string };

/** Returns the part of a file. Pages fetch its URL with the session's header, because `<img>` sends none. */
export function toFilePart({ id, media_type: mediaType, name: filename }: Attachment): FileUIPart {
  return { type: "file", mediaType, filename, url: storedFileUrl(id) };
}

/** @throws InvalidRequest for a part that has neither bytes nor the URL of a file of the service */
export function readFilePart({ url, mediaType, filename }: JsonObject): SentFile {
  if (typeof url !== "string") throw unsupported();
  const id = storedFileId(url);
  if (id !== null) return { id };
  const data = decodeDataUrl(url);
  if (data === null) throw unsupported();
  return {
    content: data.content,
    mediaType: typeof mediaType === "string" && mediaType !== "" ? mediaType : data.mediaType,
    name: typeof filename === "string" ? filename : "",
  };
}

function unsupported(): InvalidRequest {
  return new InvalidRequest(
    "file_url_unsupported",
    `A file of the last message must have a data URL, or the URL ${storedFileUrl("{id}")} of an uploaded file. Upload larger files.`,
  );
}

/** Stores the files of a message. Returns their ids, which are the same if the message is sent again. */
export async function storeFiles(
  conversation: ProtocolConversation,
  { id: messageId, files }: { readonly id: string; readonly files: readonly SentFile[] },
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [index, file] of files.entries())
    ids.push(
      "id" in file
        ? file.id
        : await conversation.upload({ ...file, id: sentFileId(messageId, index, file.content) }),
    );
  return ids;
}
