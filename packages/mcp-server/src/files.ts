// Links to the files of messages and results, which are resources.

import type { Attachment } from "@colloquy/protocol";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Call } from "./call.ts";
import { fileUri } from "./uris.ts";

/** Maximum number of files in a result of a tool: the newest ones. */
export const FILES_MAX = 20;

/** First revision with content of the type `resource_link`. */
const LINKS_SINCE = "2025-06-18";

export const LinkedFile = z.object({
  uri: z.string().describe("Resource with the content"),
  name: z.string(),
  media_type: z.string(),
  bytes: z.int(),
});
export type LinkedFile = z.output<typeof LinkedFile>;

/** A message with its files, in a snapshot or as stored. */
interface WithFiles {
  readonly attachments?: readonly Attachment[] | undefined;
  readonly tool_results?:
    | readonly { readonly attachments?: readonly Attachment[] | undefined }[]
    | null
    | undefined;
}

/** Returns the files of a message and of the results of its calls. */
export function filesOf(
  { attachments = [], tool_results: results }: WithFiles,
  session: string,
): LinkedFile[] {
  const files = [...attachments, ...(results ?? []).flatMap((result) => result.attachments ?? [])];
  return files.map(({ id, name, media_type, bytes }) => ({
    uri: fileUri(session, id),
    name,
    media_type,
    bytes,
  }));
}

/** Returns a line for models of hosts that ignore links and structured content. */
export function lineOf({ uri, name, media_type: type, bytes }: LinkedFile): string {
  return `file: ${uri} (${name}, ${type}, ${bytes} bytes)`;
}

/** Returns links as content. Clients of earlier revisions, which send no version, reject them. */
export function linksFor({ request }: Call, files: readonly LinkedFile[]): CallToolResult["content"] {
  const version = request.raw.headers["mcp-protocol-version"];
  if (typeof version !== "string" || version < LINKS_SINCE) return [];
  return files.map(({ uri, name, media_type: mimeType, bytes: size }) => ({
    type: "resource_link",
    uri,
    name,
    mimeType,
    size,
  }));
}
