// Port for protocol plugins, which add routes for protocols other than the native API. See
// docs/guides/write-a-plugin.md.

import type {
  Action,
  Message,
  PersistedMessage,
  Problem,
  SearchPage,
  Snapshot,
  Thread,
  UpdateEvent,
} from "@colloquy/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { AppendedTurn } from "@colloquy/engine/internal/core/commands/append";
import type { EditInput } from "@colloquy/engine/internal/core/commands/edit";
import type { ActionAnswer } from "@colloquy/engine/internal/core/commands/decide-action";
import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import {
  definePlugin,
  type Plugin,
  type PluginMetadata,
} from "@colloquy/engine/internal/core/plugins/plugin";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { StreamPosition } from "@colloquy/engine/internal/core/ports/driven/event-hub";
import type { OpenFile } from "@colloquy/engine/internal/sessions/files";
import type { StoredTurn, ThreadPage } from "@colloquy/engine/internal/core/ports/driving/services";
import type { RequestedOptions } from "@colloquy/engine/internal/core/requested-options";
import type { SentMessage } from "@colloquy/engine/internal/core/ports/driving/chat-request";
import type { HttpApp } from "./http-app.ts";

/** A message to send on behalf of the caller. */
export interface ProtocolMessage {
  /** May be empty if there are attachments. */
  readonly text: string;
  /** Ids of files of the conversation; absent for none. */
  readonly attachments?: readonly string[];
  /** Rig for this and later answers; if absent, the conversation's current one. */
  readonly rig?: string | null;
  readonly publicKey?: string | null;
  readonly userState?: JsonObject | null;
  /** Client-chosen UUID of the message. Sending the same id and text again has no effect. */
  readonly messageId?: string;
  /** Id of a user message. The new message replaces it and all later messages. */
  readonly replaces?: string | null;
  /**
   * Required id of the conversation's last message: otherwise `send` throws a `ServiceError` 409
   * `message_not_last`. Repeats of an idempotency key are exempt. Cannot be combined with `messageId`.
   */
  readonly follows?: string | null;
  /** Idempotency key, valid for 24 hours: a repeated message is not stored again. */
  readonly idempotencyKey?: string | null;
  /**
   * `reject`: `send` throws a `ServiceError` 409 `session_busy` while a turn is in progress. Absent for the App's
   * `onBusy`.
   */
  readonly busy?: "reject";
  /** False to skip the generation of a title. Default: true. */
  readonly isTitled?: boolean;
  /**
   * Unvalidated `client_tools` and `response_schema` (docs/api.md), client instructions, which follow the
   * App's, and a note that is stored with the turn (`ProtocolTurn.note`).
   */
  readonly options?: RequestedOptions;
}

/** A file to store in a conversation. */
export interface ProtocolFile {
  /** UUID. Storing a file with the same id again has no effect. */
  readonly id: string;
  readonly content: Uint8Array;
  /** Declared media type; empty for none. */
  readonly mediaType: string;
  /** Empty for none. */
  readonly name: string;
}

/** A stored turn with its messages. */
export interface ProtocolTurn extends StoredTurn {
  /** Id and text of the user's message. */
  readonly user: Message;
  /** `null` until it has text or calls. */
  readonly answer: Message | null;
  /** Error message of a failed turn; `null` for other turns, and once the error event is no longer stored. */
  readonly reason: string | null;
}

/** An App that the caller may use. Its default model comes first. */
export interface ProtocolApp {
  readonly name: string;
  readonly models: readonly string[];
}

export interface ProtocolSearch {
  readonly app: string;
  readonly query: string;
  /** True to search only the conversation of the request. */
  readonly onlyConversation: boolean;
  readonly limit: number;
  /** Cursor of the page; `null` for the first one. */
  readonly cursor: string | null;
}

export interface ProtocolThreads {
  /** Several Apps: those that the caller may not use are left out. */
  readonly app: string | readonly string[];
  /** Wallet address; `null` for the conversations of the user. */
  readonly publicKey: string | null;
  readonly limit: number;
  /** Cursor of the page; `null` for the first one. */
  readonly cursor: string | null;
}

/** A copy of a conversation. */
export interface ProtocolCopy {
  readonly conversation: ProtocolConversation;
  /** False if the target session was not empty, in which case nothing was copied. */
  readonly isNew: boolean;
}

/**
 * The conversation of a request, with the permissions of its caller. Every method throws a `ServiceError`
 * 401, 403 or 404 if the caller may not use the conversation. Changes count towards the caller's rate limits.
 */
export interface ProtocolConversation {
  /** Session id in lower case. */
  readonly id: string;
  /**
   * Charges the request to the rate limits, at most once. Needed only for requests without another change:
   * methods that change the conversation charge themselves.
   */
  admitChange(): Promise<void>;
  /** Stores a file for messages of the conversation. Creates the conversation like `send`. Returns the file's id. */
  upload(file: ProtocolFile): Promise<string>;
  /** Opens a file of the conversation. Throws a `ServiceError` 404 if it does not exist. */
  openFile(id: string): Promise<OpenFile>;
  /** Stores a message and starts its turn. Creates the conversation if the route declares `creates`. */
  send(message: ProtocolMessage): Promise<SentMessage>;
  /** Returns true if a message with this idempotency key was stored in the last 24 hours. */
  isRepeat(idempotencyKey: string): Promise<boolean>;
  /**
   * Returns the position in the event log and the turn in progress; `null` if the conversation does not
   * exist.
   */
  position(): Promise<StreamPosition | null>;
  /** Returns the snapshot. Throws a `ServiceError` 404 if the conversation does not exist. */
  snapshot(): Promise<Snapshot>;
  /** Yields the stored messages in batches, oldest first. */
  messages(): AsyncIterable<readonly PersistedMessage[]>;
  /** Stops the turns in progress and in the queue; with `turn`, only if that one is in progress or next. */
  interrupt(turn?: number): Promise<Snapshot>;
  /**
   * Creates the conversation if it does not exist, and sets `metadata` if it has none. The route must declare
   * `creates`.
   */
  create(metadata?: JsonObject): Promise<Thread>;
  /** Returns title, App, metadata and times. Throws a `ServiceError` 404 if the conversation does not exist. */
  thread(): Promise<Thread>;
  /** Changes title and archive, and merges a patch (RFC 7396) into the metadata. */
  edit(changes: EditInput): Promise<Thread>;
  /** Deletes the conversation. */
  remove(): Promise<void>;
  /**
   * Appends finished turns that the client has recorded. Creates the conversation if the route declares
   * `creates`. Throws a `ServiceError` 409 while the conversation is busy.
   */
  append(turns: readonly AppendedTurn[]): Promise<void>;
  /**
   * Copies the finished turns through that of the message `through` into the session `target` (a UUID in
   * lower case). Copies nothing if `target` is not empty, so that a repeated request continues the same copy.
   * A message that was charged to the rate limits but not stored here is not charged again in the copy. The
   * route must declare `creates`. Throws a `ServiceError` 409 if the turn is not finished.
   */
  fork(target: string, through: string): Promise<ProtocolCopy>;
  /** Returns a turn; `null` if the conversation has no such turn. Reads its messages from `snapshot`, if given. */
  turn(number: number, snapshot?: Snapshot): Promise<ProtocolTurn | null>;
  /** Returns pending actions and the last 100 others, oldest first. */
  actions(): Promise<readonly Action[]>;
  /**
   * Decides an action. The result of a client tool needs no claim: it is accepted unless another client has claimed
   * the call (a `ServiceError` 409).
   */
  decide(action: string, answer: ActionAnswer): Promise<Action>;
  /**
   * Responds with a stream: reserves a stream slot, calls `begin`, which may send a message, and then follows
   * the conversation's events. If `begin` throws, responds with the error. Checks the caller every two
   * seconds. Disconnects slow readers, so that they resume. A disconnect does not stop the turn.
   */
  stream(
    reply: FastifyReply,
    begin: () => Promise<StreamFollower> | StreamFollower,
    options?: StreamOptions,
  ): Promise<void>;
  /**
   * Feeds the conversation's events to a follower until it is over, for a response that is not a stream. Ignores the
   * returned texts and `finish`. Resolves earlier if the signal aborts. Rejects when the service stops, the caller
   * loses access, or the client disconnects.
   */
  follow(
    begin: () => Promise<StreamFollower> | StreamFollower,
    options?: { readonly signal?: AbortSignal },
  ): Promise<void>;
}

/** Encodes events as the text of a response. */
export interface StreamFollower {
  /** Position or event id after which to start; `null` for new events only. */
  readonly after: Pick<StreamPosition, "incarnation" | "head"> | string | null;
  /** Id of the conversation to follow, if `begin` has continued in a copy; by default, the requested one. */
  readonly conversationId?: string;
  /** True to receive `reasoning_delta` events while the model reasons. Default: false. */
  readonly includesReasoning?: boolean;
  /** Returns text to send before the events. */
  begin?(): string;
  /** Returns the text for an event; an empty string skips it. A thrown error is logged and aborts the response. */
  encode(event: UpdateEvent): string;
  /** True to end the response after the last returned text. */
  readonly isOver: boolean;
  /**
   * Returns the last text of the response. Called once `isOver` is true. A rejection is logged and aborts the
   * response.
   */
  finish?(): Promise<string>;
}

export interface StreamOptions {
  /** Additional header fields. `content-type` defaults to `text/event-stream`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text that keeps an idle stream alive; by default, a server-sent events comment. */
  readonly heartbeat?: string;
}

/** Services that `create` receives in addition to the settings. */
export interface ProtocolContext {
  readonly name: string;
  readonly logger: Logger;
  /** Maximum bytes of a conversation's messages (`limits.sessionBytes`). */
  readonly sessionBytes: number;
  /** True if the server accepts connections from its own machine only. */
  readonly isLoopback: boolean;
  /** Returns the Apps that the caller may use. Throws a `ServiceError` 403 if the key lacks the scope of the route. */
  apps(request: FastifyRequest): readonly ProtocolApp[];
  /** Returns the issuer of the tokens of an App's users; `null` if the App has no users, or does not exist. */
  issuerOf(app: string): string | null;
  /** Returns true if the request has no `Origin` or an allowed one. */
  isOriginAllowed(request: FastifyRequest): boolean;
  /**
   * Returns a page of the caller's conversations in an App, or of those of a wallet, in the order of `GET
   * /api/sessions`. Returns `null` for a request with neither a user nor a wallet. Throws a `ServiceError`
   * 403 if the caller may not use the App.
   */
  threads(request: FastifyRequest, wanted: ProtocolThreads): Promise<ThreadPage | null>;
  /**
   * Searches the caller's conversations in an App, or the conversation of the request, like `GET
   * /api/search`. Returns `null` if the request has neither a user nor a conversation. Throws a
   * `ServiceError` 403 if the caller may not use the App.
   */
  search(request: FastifyRequest, wanted: ProtocolSearch): Promise<SearchPage | null>;
  /**
   * Returns the conversation of the request's session. `app` and `client` apply to new messages. A route with
   * `app: "session"` needs neither.
   */
  conversation(
    request: FastifyRequest,
    named?: { readonly app?: string | null | undefined; readonly client?: string | null | undefined },
  ): ProtocolConversation;
}

/** Body of an error response. Status and header fields cannot be changed. */
export interface FormattedError {
  readonly contentType: string;
  readonly body: string;
}

export type { AppendedTurn, OpenFile, SentMessage };

export interface Protocol {
  /**
   * Registers the routes on an encapsulated Fastify 5 instance, with zod 4 schemas. Each route needs
   * `config.access`. Must have no other effect, because it is called again to generate the OpenAPI document.
   */
  routes(app: HttpApp): void;
  /** Formats errors of the routes; problem documents (RFC 9457) by default. */
  formatError?(problem: Problem): FormattedError;
  /** Called when the server closes. */
  close?(): void | Promise<void>;
}

export interface ProtocolDefinition<Name extends string, Settings extends z.ZodObject>
  extends PluginMetadata {
  /** Name of the section `protocols.<name>`. */
  readonly name: Name;
  /** Schema of the section; `describe` documents the settings. All may contain `{{env.NAME}}`. */
  readonly settings?: Settings | undefined;
  /** Description of the section for the documentation. */
  readonly description?: string | undefined;
  /** Called once at startup. An error aborts the startup. */
  create(settings: z.output<Settings>, context: ProtocolContext): Protocol | Promise<Protocol>;
}

export interface ProtocolPlugin<Name extends string = string, Settings extends z.ZodObject = z.ZodObject>
  extends ProtocolDefinition<Name, Settings> {
  readonly kind: "colloquy/protocol";
}

/** Defines a plugin that adds routes, configured in the section `protocols.<name>`. */
export function defineProtocol<const Name extends string, Settings extends z.ZodObject = z.ZodObject<{}>>(
  definition: ProtocolDefinition<Name, Settings>,
): ProtocolPlugin<Name, Settings> {
  return definePlugin("protocol", definition);
}

export function isProtocol(plugin: Plugin): plugin is ProtocolPlugin {
  return plugin.kind === "colloquy/protocol";
}

/** A protocol and its settings as parsed by its schema. */
export interface ConfiguredProtocol {
  readonly plugin: ProtocolPlugin;
  readonly settings: Hidden<unknown>;
}
