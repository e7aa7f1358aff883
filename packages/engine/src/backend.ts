// Public API for authors of backends and transports, in addition to `defineBackend` and `defineTransport`.

export { type EstablishedConnection, ReconnectingConnection } from "./bus/reconnecting-connection.ts";
export type { Needs, Origin, StoredFacts } from "./core/commands/command.ts";
export {
  birthOf,
  decideCommand,
  type Decision,
  loadsSession,
  needsOf,
  sessionOf,
} from "./core/commands/decide.ts";
export { SessionDraft } from "./core/commands/draft.ts";
export type { AnswerOf, SelectedOutcome, Selection, SessionCommand } from "./core/commands/index.ts";
export { newSession } from "./core/session.ts";
export { within } from "./core/waiting.ts";
export { type DocumentStoreOptions, openDocumentStore } from "./store/documents/document-store.ts";
export type { DocumentStorage } from "./store/documents/documents.ts";
export { sqlite } from "./store/sqlite/plugin.ts";
export {
  storeClosed,
  storeFull,
  storeUnavailable,
  storeUncertain,
} from "./store/unavailable.ts";
