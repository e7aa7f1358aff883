// Ids of the OpenAI API. They are derived from stored ids, so that every node produces and parses the same ids
// without a table: `conv_<session>`, `resp_<session>_<turn>`, and `resp_<session>_<turn>_<calls>` for the part of an
// answer after its first `<calls>` calls.

import { parseSessionId } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";

/** Identifies a response: the part of a turn's answer that starts at call index `from`. */
export interface ResponseRef {
  readonly session: string;
  readonly turn: number;
  /** Number of the answer's calls in earlier responses. */
  readonly from: number;
}

const RESPONSE = /^resp_(?<session>[0-9a-f-]{36})_(?<turn>[1-9]\d{0,8})(?:_(?<from>[1-9]\d{0,3}))?$/i;

export function conversationId(session: string): string {
  return `conv_${session}`;
}

/** Returns the session id in a conversation id or a plain UUID; `null` for other texts. */
export function sessionOfConversation(id: string): string | null {
  return parseSessionId(id.replace(/^conv_/i, ""));
}

export function responseId({ session, turn, from }: ResponseRef): string {
  return `resp_${session}_${turn}${from === 0 ? "" : `_${from}`}`;
}

/** Parses a response id; `null` if it is malformed. */
export function parseResponseId(id: string): ResponseRef | null {
  const { session = "", turn, from = "0" } = RESPONSE.exec(id)?.groups ?? {};
  const parsed = parseSessionId(session);
  return parsed === null ? null : { session: parsed, turn: Number(turn), from: Number(from) };
}

export function sessionOfResponse(id: string): string | null {
  return parseResponseId(id)?.session ?? null;
}

/** An action of a session, encoded in the ids of calls and approval requests. */
export interface ActionRef {
  readonly session: string;
  readonly action: string;
}

/** Clients and providers accept ids of up to 64 letters, digits, `_` and `-`. */
const ACTION = /^(?:call|mcpr)_(?<session>[A-Za-z0-9_-]{22})(?<action>[A-Za-z0-9_-]{22})$/;

export function actionRefId(prefix: "call" | "mcpr", { session, action }: ActionRef): string {
  return `${prefix}_${packUuid(session)}${packUuid(action)}`;
}

/** Parses the id of a call or approval request; `null` if this service did not create it. */
export function parseActionRef(id: string): ActionRef | null {
  const { session = "", action = "" } = ACTION.exec(id)?.groups ?? {};
  const parsed = parseSessionId(unpackUuid(session));
  return parsed === null ? null : { session: parsed, action: unpackUuid(action) };
}

/** A file of a session. */
export interface FileRef {
  readonly session: string;
  readonly file: string;
}

const FILE = /^file-(?<session>[A-Za-z0-9_-]{22})(?<file>[A-Za-z0-9_-]{22})$/;

export function fileId({ session, file }: FileRef): string {
  return `file-${packUuid(session)}${packUuid(file)}`;
}

/** Parses a file id; `null` if it is malformed. */
export function parseFileId(id: string): FileRef | null {
  const packed = FILE.exec(id)?.groups ?? {};
  const parsed = parseSessionId(unpackUuid(packed["session"] ?? ""));
  return parsed === null ? null : { session: parsed, file: unpackUuid(packed["file"] ?? "") };
}

export function sessionOfFile(id: string): string | null {
  return parseFileId(id)?.session ?? null;
}

/** Returns the id of an item: unique in its conversation, and stable across reads. */
export function itemId(prefix: "msg" | "fc" | "fco" | "mcp" | "rs", message: string, part: number): string {
  return `${prefix}_${message.replaceAll("-", "")}_${part}`;
}

/** Returns a 404 for the id of a response, item or file that does not exist. */
export function unknownId(what: "response" | "item" | "file", id: string): ServiceError {
  const detail = `No ${what} found with id '${id.slice(0, 100)}'.`;
  return new ServiceError(404, `${what}_not_found`, detail);
}

function packUuid(uuid: string): string {
  return Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");
}

function unpackUuid(text: string): string {
  const hex = Buffer.from(text, "base64url").toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
