export { ACCEPTED_FILES } from "./accepted-files.ts";
export { answeredQuestion } from "./answered-question.ts";
export { createClient, type Client, type ClientOptions } from "./client.ts";
export { ColloquyError } from "./colloquy-error.ts";
export type { ApprovalPage } from "./approval-operations.ts";
export type {
  ClientTool,
  Decision,
  MessagesOption,
  SendOptions,
  StateOptions,
  WaitOptions,
} from "./conversation-operations.ts";
export { createEventStreamParser, type Frame } from "./event-stream-parser.ts";
export { fetchWithProgress, type UploadInit, type UploadProgress } from "./fetch-with-progress.ts";
export type { UploadOptions } from "./file-operations.ts";
export { fold, type Folded, type SessionUpdate, visible } from "./fold.ts";
export type { LiveReasoning } from "./live-reasoning.ts";
export type { LiveSession, SessionOptions } from "./live-session.ts";
export { mayUserDecide } from "./may-user-decide.ts";
export { messageParts, type MessagePart } from "./message-parts.ts";
export type { Erased, Operations, SecretsOf, SignedIn } from "./operations.ts";
export type { Connection } from "./session-store.ts";
export type { ThreadPage } from "./thread-operations.ts";
export { takeStreamSlot } from "./stream-slots.ts";
export type { Timer, Timing } from "./timing.ts";
export type { ClientToolAction, ToolHandler, ToolHandlers, ToolRun } from "./tool-runner.ts";
export type { Abortable } from "./transport.ts";
export { visibleJson } from "./visible-json.ts";
export { walletToken } from "./wallet-token.ts";
export { wholeUnits } from "./whole-units.ts";
export type * from "./wire.ts";
