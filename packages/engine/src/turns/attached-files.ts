// Converts files of messages and results to prompt parts: bytes if the provider accepts the type, text for text files, and
// otherwise a description, so that the turn continues.

import type { Attachment } from "@colloquy/protocol";
import { isText } from "@colloquy/protocol/media-types";
import type { NewFile } from "../core/file.ts";
import type { JsonObject } from "../core/json.ts";
import type { OutputBudget } from "../core/message.ts";
import type { PromptRules } from "../core/ports/driven/model.ts";
import type { ToolFile } from "../core/ports/driven/tool.ts";

/** Reads the bytes of files of sessions. */
export interface FileReader {
  /** Returns the first `most` bytes; `null` if the file does not exist. */
  bytesOf(sessionId: string, fileId: string, most: number): Promise<Uint8Array | null>;
}

/** Files of tools after their bytes were stored. */
export interface KeptFiles {
  readonly files: readonly NewFile[];
  /** A sentence for each file that was not stored. */
  readonly refused: readonly string[];
}

/** Implemented by `Files` (sessions/files.ts). */
export interface TurnFiles extends FileReader {
  /**
   * Stores the bytes of the files of a result, as far as the budget of the answer allows. Keeps none after an abort of
   * `signal`. Never rejects.
   */
  keep(
    turn: { readonly sessionId: string; readonly app: string },
    files: readonly ToolFile[],
    budget: OutputBudget,
    signal: AbortSignal,
  ): Promise<KeptFiles>;
}

/** Who added a file to the conversation: the user, or the tool of this name. */
export type FileOrigin = "user" | { readonly tool: string };

/** Returns a file as a part of the AI SDK's user message. */
export type PartOfFile = (file: Attachment, origin: FileOrigin) => JsonObject;

/** Maximum bytes of binary files in a request, before base64 encoding: the limit of the strictest provider. */
const REQUEST_BYTES = 20 * 1024 * 1024;
/** Maximum share of the prompt for the text files of a message. */
const TEXT_SHARE = 0.5;

/** Estimated tokens of an image of any size: providers scale images down. */
const IMAGE_TOKENS = 1_600;
/** Bytes of a PDF or a recording that count as one image. */
const PAGE_BYTES = 100 * 1024;
const DOCUMENT_TOKENS = 50_000;

function isImage({ media_type: type }: Attachment): boolean {
  return type.startsWith("image/");
}

/** Returns the estimated tokens of a message's files in a prompt of this size in bytes. */
export function tokensOf(files: readonly Attachment[], promptBytes: number, bytesPerToken: number): number {
  const most = textLimit(files, promptBytes);
  return files.reduce((sum, file) => {
    if (isText(file.media_type)) return sum + Math.ceil(Math.min(file.bytes, most) / bytesPerToken);
    if (isImage(file)) return sum + IMAGE_TOKENS;
    return sum + Math.min(DOCUMENT_TOKENS, Math.ceil(file.bytes / PAGE_BYTES) * IMAGE_TOKENS);
  }, 0);
}

/** Returns the maximum bytes of each text file of a message. */
function textLimit(files: readonly Attachment[], promptBytes: number): number {
  const texts = files.filter((file) => isText(file.media_type)).length;
  return texts === 0 ? 0 : Math.floor((promptBytes * TEXT_SHARE) / texts);
}

/** Returns the note that replaces a file in the prompt. */
export function describeFile({ name, media_type: type, bytes }: Attachment, origin: FileOrigin): JsonObject {
  const file = `${JSON.stringify(name)} (${type}, ${bytes} bytes)`;
  return { type: "text", text: `[${sourceOf(origin)} the file ${file}, which you cannot read here.]` };
}

function sourceOf(origin: FileOrigin): string {
  return origin === "user" ? "The user attached" : `The tool ${origin.tool} returned`;
}

/** Returns the note that replaces a file whose bytes appear earlier in the prompt. */
function describeRepeat({ name }: Attachment, first: Attachment, origin: FileOrigin): JsonObject {
  const [file, same] = [name, first.name].map((one) => JSON.stringify(one));
  return { type: "text", text: `[${sourceOf(origin)} the file ${file}, which is the file ${same} above.]` };
}

/**
 * Converts the files of a prompt, by message, oldest first. Files that the provider does not accept, that no
 * longer exist, or that exceed the limit of a request are replaced by notes. Newer files take precedence
 * within the limit. Equal files appear only once, at the first occurrence, so that the prompt's prefix
 * remains cacheable.
 */
export async function readFiles(
  messages: readonly (readonly Attachment[])[],
  {
    sessionId,
    rules,
    promptBytes,
    isLatestOnly = false,
  }: {
    readonly sessionId: string;
    readonly rules: PromptRules;
    readonly promptBytes: number;
    /** True to replace the files of all messages but the last one by notes. */
    readonly isLatestOnly?: boolean;
  },
  reader: FileReader,
): Promise<PartOfFile> {
  const firsts = new Map<string, Attachment>();
  for (const file of messages.flat()) if (!firsts.has(file.sha256)) firsts.set(file.sha256, file);
  const parts = new Map<Attachment, JsonObject>();
  let left = REQUEST_BYTES;
  for (const files of messages.slice(isLatestOnly ? -1 : 0).toReversed()) {
    const most = textLimit(files, promptBytes);
    for (const file of files) {
      const first = firsts.get(file.sha256) ?? file;
      if (parts.has(first)) continue;
      const takes =
        isText(file.media_type) || (rules.files?.includes(file.media_type) === true && file.bytes <= left);
      const wanted = isText(file.media_type) ? Math.min(file.bytes, most) : file.bytes;
      const bytes = takes ? await reader.bytesOf(sessionId, file.id, wanted) : null;
      if (bytes === null) continue;
      if (isText(file.media_type)) {
        parts.set(first, textPart(first, bytes));
      } else {
        left -= bytes.length;
        parts.set(first, filePart(first, bytes));
      }
    }
  }
  return (file, origin) => {
    const first = firsts.get(file.sha256);
    const repeat = first !== undefined && parts.has(first) ? describeRepeat(file, first, origin) : null;
    return parts.get(file) ?? repeat ?? describeFile(file, origin);
  };
}

function filePart({ name, media_type: mediaType }: Attachment, data: Uint8Array): JsonObject {
  // OpenAI reads the type of a PDF from its name.
  const filename = mediaType === "application/pdf" && !/\.pdf$/i.test(name) ? `${name}.pdf` : name;
  // The SDK accepts bytes in this part, which `JsonObject` does not allow.
  return { type: "file", mediaType, filename, data } as unknown as JsonObject;
}

/** `bytes` is the beginning of the file, up to the prompt's limit. */
function textPart({ name, bytes: length }: Attachment, bytes: Uint8Array): JsonObject {
  // In stream mode, the decoder omits a character that the truncation has split.
  const text = new TextDecoder().decode(bytes, { stream: true });
  const note =
    length <= bytes.length
      ? ""
      : `\n[Cut: the file has ${length} bytes, and this conversation has room for ${bytes.length}.]`;
  return { type: "text", text: `The file ${JSON.stringify(name)}:\n\n${text}${note}` };
}
