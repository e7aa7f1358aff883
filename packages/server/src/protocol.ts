// Public API for authors of protocols: `defineProtocol`, and the parts of the server's own routes: schemas of
// common fields, documented errors, bounded JSON and streamed lists. Loads neither the web server nor the
// engine.

export {
  InvalidRequest,
  NotFound,
  ServiceError,
  throwAfterCommit,
  unknownSession,
} from "@colloquy/engine/internal/core/errors";
export { isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/internal/core/json";
export { readMessage } from "@colloquy/engine/internal/core/message-text";
export { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
export { NO_USAGE } from "@colloquy/engine/internal/core/turn";
export type { StreamPosition } from "@colloquy/engine/internal/core/ports/driven/event-hub";
export { ClientToolsField } from "@colloquy/engine/internal/core/requested-options";
export { formatEventId, parseEventId } from "@colloquy/engine/internal/core/session-event";
export type { FastifyReply, FastifyRequest } from "fastify";
export type { AppAccess, RouteAccess } from "./http/access/route-access.ts";
export { JSON_MAX_DEPTH, type ParsedJson, parseJson, parseJsonBytes } from "./http/json-text.ts";
export {
  AppName,
  ClientId,
  HEADERS,
  optional,
  PublicKey,
  refusals,
  type RefusalSchema,
  refusalsAs,
  Title,
  UserStateField,
} from "./http/operation.ts";
export {
  type AppendedTurn,
  defineProtocol,
  type ProtocolApp,
  type FormattedError,
  type Protocol,
  type ProtocolContext,
  type ProtocolConversation,
  type ProtocolDefinition,
  type ProtocolCopy,
  type ProtocolFile,
  type OpenFile,
  type ProtocolMessage,
  type ProtocolPlugin,
  type ProtocolTurn,
  type SentMessage,
  type StreamFollower,
  type StreamOptions,
} from "./http/protocol.ts";
export { CHAT_BODY_MAX_BYTES, DECISION_COMMENT_MAX } from "./http/problem.ts";
export { KEPT_MAX_BYTES, parseConversation } from "./http/conversation-body.ts";
export { type AnswerEncoder, type AnswerEnd, FollowedTurn } from "./http/following/followed-turn.ts";
export {
  asText,
  type CallOutcome,
  filesOf,
  type MessagePart,
  messageParts,
  outcomeOf,
} from "./http/following/message-parts.ts";
export { type TurnEnd, TurnFold, type TurnState, waitsForPerson } from "./http/following/turn-fold.ts";
export {
  type Start,
  startInProgress,
  startOfAny,
  startOfQueued,
  startOfSent,
} from "./http/following/turn-start.ts";
export { TurnStream, type TurnStreamOptions } from "./http/following/turn-stream.ts";
export type { HttpApp } from "./http/http-app.ts";
export { appNotServed, CHAT_ACCESS, ServedApps, servedAppsField } from "./http/served-apps.ts";
export {
  type DataUrl,
  declaredType,
  decodeBase64,
  decodeDataUrl,
  derivedId,
  fileLength,
  isDataUrl,
  sentFileId,
  storedFileId,
  storedFileUrl,
} from "./http/sent-files.ts";
export { sendArray } from "./http/routes/send-array.ts";
