// The embedded engine: runs conversations in the caller's process, without HTTP.

import { createHash, randomBytes } from "node:crypto";
import { addAbortListener } from "node:events";
import { resolve } from "node:path";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import {
  ATTACHMENTS_MAX,
  type Action,
  type Attachment,
  IncludeGroup,
  LAST_MESSAGES_MAX,
  type MessageDelta,
  type ReasoningDelta,
  type SessionEvent,
  SessionId,
  type Snapshot,
  type Thread,
  type UpdateEvent,
} from "@colloquy/protocol";
import { Registry as MetricsRegister } from "prom-client";
import { z } from "zod";
import { appSection } from "../config/app-schema.ts";
import { backendSection, filesSection, transportSection } from "../config/backends.ts";
import { checkPlugins } from "../config/plugins.ts";
import type { EngineConfig } from "../config/engine-config.ts";
import { type ConfigProblem, formatPath, formatProblems } from "../config/problem.ts";
import { freezeConfig, readSections } from "../config/read-sections.ts";
import { ChainSection, LimitsSection, providerSection, RetentionSection } from "../config/sections.ts";
import type {
  BackendOf,
  FilesOf,
  Immutable,
  ProviderOf,
  SectionsOf,
  TransportOf,
} from "../config/section-types.ts";
import type { Environment } from "../config/secret-variable.ts";
import { InvalidRequest } from "../core/errors.ts";
import { invalidParameter } from "../core/invalid-parameter.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { readMessage } from "../core/message-text.ts";
import { Hidden } from "../core/hidden.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretVault } from "../core/ports/driven/secret-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type {
  MessageRange,
  SnapshotView,
  StreamAccess,
  StreamFrame,
  StreamSink,
} from "../core/ports/driving/services.ts";
import { NO_PROXIES } from "../core/proxies.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { ANONYMOUS, hiddenFrom, type SessionAccess } from "../core/session-access.ts";
import { directory as directoryFiles } from "../files/directory.ts";
import { sqlite } from "../store/sqlite/plugin.ts";
import { createSystemClock } from "./clock.ts";
import { createBusMetrics } from "./metrics.ts";
import { openFiles, openStorage } from "./storage.ts";
import { inspections } from "./inspections.ts";
import { type MasterKeySettings, openVault } from "./master-keys.ts";
import { buildService, startService, stopService, type Service } from "./service.ts";

/** Returns the schema of the configuration sections that the engine reads. The server's file adds further sections. */
const engineSections = (plugins: readonly Plugin[]) =>
  z.strictObject({
    apps: z.record(z.string(), appSection(plugins)).optional(),
    providers: z.record(z.string(), providerSection(plugins)).optional(),
    backend: backendSection(plugins).optional(),
    transport: transportSection(plugins).optional(),
    files: filesSection(plugins).optional(),
    chains: z.record(z.string(), ChainSection).optional(),
    limits: LimitsSection.prefault({}),
    retention: RetentionSection.prefault({}),
  });

type Sections = z.input<ReturnType<typeof engineSections>>;
type App = NonNullable<Sections["apps"]>[string];

/** Options of `createEngine`. `Listed` is the union of the types of `plugins`. */
export interface EngineOptions<Listed = never>
  extends Omit<Sections, "apps" | "backend" | "files" | "providers" | "transport"> {
  /** Model providers by name, as in the configuration file. */
  readonly providers?: Readonly<Record<string, ProviderOf<Listed>>>;
  /** Backend of a plugin; SQLite in `directory` if absent. */
  readonly backend?: BackendOf<Listed>;
  /**
   * Transport of a plugin, for a backend that several processes share. Defaults to the backend's own
   * transport.
   */
  readonly transport?: TransportOf<Listed>;
  /** File store of a plugin; the directory `files` in `directory` if absent. */
  readonly files?: FilesOf<Listed>;
  /** Plugins. Each adds its section to `apps`, or its kind to `providers`, `backend`, `transport` or `files`. */
  readonly plugins?: readonly Listed[];
  /** Apps by name, as in the configuration file. */
  readonly apps?: Readonly<Record<string, Immutable<App> & SectionsOf<Listed>>>;
  /** Data directory, created if missing. Without it, SQLite keeps all data in memory, lost when the process exits. */
  readonly directory?: string;
  /** Additional models by rig (`provider/model`). Apps without `models` prefer them over those of `providers`. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  /** Environment variables with provider keys, such as `process.env`. Empty by default. */
  readonly environment?: Environment;
  /** Logger, such as a pino instance. By default, nothing is logged. */
  readonly logger?: Logger;
  /** Registry for Prometheus metrics. */
  readonly metrics?: MetricsRegister;
  /** Called when database writes can no longer be relied on; exit the process. Throws the error by default. */
  readonly onFatal?: (error: Error) => void;
}

/** Range of messages to return. */
export interface MessagesInput {
  /**
   * Number of latest messages, from 0 to 1,000; all if absent. Queued and streaming messages and all later
   * ones are always included. `messages_before` of the result is the number of messages before the first one.
   */
  readonly messages?: { readonly last: number };
}

/** Identifies a conversation and the user of the call. */
export interface Conversation {
  /** UUID of the conversation, chosen by the caller. The first call creates the conversation. */
  readonly session: string;
  /**
   * Id of the signed-in user, chosen by the caller. Calls with another `user`, or none, cannot access the
   * user's conversations.
   */
  readonly user?: string;
}

export interface ChatInput extends Conversation, MessagesInput {
  readonly message: string;
  /** Ids of files that were uploaded to the conversation, at most 10. The message may then be empty. */
  readonly attachments?: readonly string[];
  /** App name; `default` if absent. The first message fixes it. */
  readonly app?: string;
  /** Rig (`provider/model`) for this and later turns. */
  readonly model?: string;
  /**
   * Maximum milliseconds to wait until the turn ends or requests an action. Default 0: returns once the
   * message is stored.
   */
  readonly wait?: number;
  /** Idempotency key (UUID), valid for 24 hours. A repeated call with the same key stores no second message. */
  readonly idempotencyKey?: string;
  /** Id of an earlier user message to replace. Deletes that message and all later ones. */
  readonly replaces?: string;
  /** Effect while a turn is in progress, in place of the App's `onBusy` unless that is `reject`. */
  readonly busy?: "steer" | "enqueue";
  /** JSON Schema of the answer (see `response_schema` in docs/api.md). */
  readonly responseSchema?: JsonObject;
  /** Client state that tools can read; at most 16 KiB. */
  readonly userState?: JsonObject;
  /** Aborts the wait, not the turn. */
  readonly signal?: AbortSignal;
}

export interface UploadInput extends Conversation {
  readonly content: AsyncIterable<Uint8Array>;
  /** Media type; detected if absent. Must be that of the content. */
  readonly mediaType?: string;
  /** Name of the file. */
  readonly name?: string;
  /** App whose chats may use the file; `default` if absent. */
  readonly app?: string;
}

export interface DownloadInput extends Conversation {
  /** Id of the file. */
  readonly file: string;
}

export interface SubscribeInput extends Conversation {
  /** Id of the last processed event; resumes after it. Without it, yields only new events. */
  readonly after?: string;
  /** True to receive `reasoning_delta` events while the model reasons. Default: false. */
  readonly reasoning?: boolean;
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
}

export interface DecideInput extends Conversation {
  readonly action: string;
  readonly decision: "approve" | "deny";
  /** Answer to a question, or result of a client tool; see docs/api.md. Default: `null`. */
  readonly result?: JsonValue;
}

export interface StateInput extends Conversation {
  /** As in `MessagesInput`. With `before`, the messages directly before the one with this id. */
  readonly messages?: { readonly last: number; readonly before?: string };
  /** Maximum milliseconds to wait until no turn runs or one requests an action. Default 0: does not wait. */
  readonly wait?: number;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
}

export interface EngineEvent {
  /** Id for `after`; `null` for deltas, which are not committed. */
  readonly id: string | null;
  readonly event: { session_id: string } & (SessionEvent | MessageDelta | ReasoningDelta);
}

export interface Engine {
  readonly conversations: {
    /**
     * Stores a message and starts its turn. Returns the conversation. Throws a `ServiceError`, such as 409
     * `session_full`.
     */
    chat(input: ChatInput): Promise<Snapshot>;
    /**
     * Stores a file, which expires after a day unless a message uses it. Throws a `ServiceError`, such as 415
     * for its type.
     */
    upload(input: UploadInput): Promise<Attachment>;
    /** Returns a file of the conversation. Throws a `ServiceError` with status 404 if it has none with this id. */
    download(
      input: DownloadInput,
    ): Promise<{ readonly file: Attachment; readonly content: AsyncIterable<Uint8Array> }>;
    /** Returns the conversation. */
    state(input: StateInput): Promise<Snapshot>;
    /**
     * Yields events and deltas, starting with this call, until `signal` aborts or the conversation is deleted. A slow
     * consumer may miss deltas, but no events.
     */
    subscribe(input: SubscribeInput): AsyncIterable<EngineEvent>;
    /** Stops the running turn; its text stays. Returns the conversation. */
    interrupt(input: Conversation & MessagesInput): Promise<Snapshot>;
    /** Deletes the conversation. */
    delete(input: Conversation): Promise<void>;
    /** Sets the title. */
    rename(input: Conversation & { readonly title: string }): Promise<Thread>;
    /** Returns pending and recently decided actions, oldest first. */
    actions(input: Conversation): Promise<readonly Action[]>;
    /**
     * Approves, denies or answers an action. Throws a `ServiceError` with status 409 if it was decided differently or
     * is no longer pending; repeating the same decision returns the action.
     */
    decide(input: DecideInput): Promise<Action>;
  };
  /**
   * Stops turns after `graceMs` milliseconds (default 0) and closes the database. The next start resumes
   * unfinished turns.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Internals by engine, for packages that serve it over a protocol. */
const engines = new WeakMap<Engine, EngineParts>();

export interface EngineParts {
  readonly service: Service;
  readonly config: EngineConfig;
  readonly store: Store;
  readonly vault: SecretVault;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly register: MetricsRegister;
}

/** Returns the internals of an engine. Throws if this version of the package did not create it. */
export function partsOf(engine: Engine): EngineParts {
  const parts = engines.get(engine);
  if (parts === undefined)
    throw new Error(
      "The engine was not created by this version of @colloquy/engine. Install the package once, and pass the result of createEngine.",
    );
  return parts;
}

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const GROUPS: ReadonlySet<IncludeGroup> = new Set(IncludeGroup.options);
const WITHOUT_REASONING: ReadonlySet<IncludeGroup> = new Set(
  IncludeGroup.options.filter((group) => group !== "reasoning"),
);
const NEVER = new AbortController().signal;

/**
 * Opens the database and resumes unfinished turns. The caller must authorize each call: the engine only hides the
 * conversations of a `user` from other users. Rejects with an Error that lists all invalid options.
 */
export async function createEngine<Listed extends Plugin = never>(
  options: EngineOptions<Listed> = {},
): Promise<Engine> {
  const {
    directory = null,
    models = {},
    environment = {},
    logger = SILENT,
    onFatal = raise,
    ...sections
  } = options;
  const { metrics: register = new MetricsRegister(), plugins = [], ...content } = sections;
  const config = await readOptions({ content, plugins, environment, extraRigs: Object.keys(models) });
  const clock = createSystemClock();
  let dropMemory = (): void => undefined;
  const storage = await openStorage(config, {
    clock,
    logger,
    onFatal,
    onServerChange: () => dropMemory(),
    directory: directory === null ? null : resolve(directory),
    processId: null,
    isLimited: false,
    onNotificationsLost: createBusMetrics(register),
  });
  const { store } = storage;
  try {
    const fileStore = await openFiles(config, {
      clock,
      logger,
      directory: directory === null ? null : resolve(directory),
    });
    const vault = openVault(masterKeyOf(directory, environment, config), store.secrets, logger);
    const base = { config, clock, logger, ...storage, fileStore, register, vault, signingKeys: vault };
    const service = buildService({ ...base, extraModels: models });
    dropMemory = () => service.dropMemory();
    await startOrStop(service);
    const engine: Engine = {
      conversations: conversationsOf(service),
      async close({ graceMs = 0 } = {}) {
        await stopService(service, graceMs);
        await store.close();
      },
    };
    engines.set(engine, { service, config, store, vault, clock, logger, register });
    return engine;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startOrStop(service: Service): Promise<void> {
  try {
    await startService(service);
  } catch (error) {
    await stopService(service, 0);
    throw error;
  }
}

/**
 * Returns a random key for an in-memory engine, whose secrets do not outlive it. Nodes that share a store
 * need a configured key.
 */
function masterKeyOf(
  directory: string | null,
  environment: Environment,
  { backend }: EngineConfig,
): MasterKeySettings {
  const text = environment["COLLOQUY_SECRET_KEY"] ?? "";
  const secretKey = text === "" ? null : new Hidden(text);
  const isShared = backend.plugin.nodes !== undefined;
  if (isShared || secretKey !== null || directory !== null)
    return { isShared, dataDirectory: directory ?? "", secretKey };
  return { dataDirectory: "", secretKey: new Hidden(randomBytes(32).toString("base64")) };
}

function raise(error: Error): never {
  throw error;
}

interface ReadOptions {
  readonly content: object;
  readonly plugins: readonly Plugin[];
  readonly environment: Environment;
  readonly extraRigs: readonly string[];
}

async function readOptions(options: ReadOptions): Promise<EngineConfig> {
  const { content, environment, extraRigs } = options;
  const pluginProblems: ConfigProblem[] = [];
  const candidates = options.plugins.map((value, index) => ({ value, path: ["plugins", index] }));
  const plugins = checkPlugins([sqlite, directoryFiles], candidates, (path, message) =>
    pluginProblems.push({ source: "", location: formatPath(path), message }),
  );
  const reader = {
    source: "",
    environment,
    inspections,
    stamps: new Map<string, string>(),
    directory: resolve("."),
    extraRigs,
    plugins,
    defaultStorage: { backend: sqlite, files: directoryFiles },
  };
  const sections = await readSections(content, engineSections(plugins), reader);
  const problems = [...pluginProblems, ...sections.problems()];
  if (sections.content === null || problems.length > 0)
    throw new Error(formatProblems(problems, "The engine cannot start: the options have"));
  return freezeConfig({ ...sections.complete(sections.content), proxies: NO_PROXIES });
}

function conversationsOf({
  conversations,
  threads,
  files,
  actions,
  feed,
  apps,
}: Service): Engine["conversations"] {
  const resolve = (input: Conversation): ResolvedAccess => resolveAccess(input, apps.names());
  /** Subscriptions that are still opening. `chat` waits for them, so that they receive all of its events. */
  const opening = new Set<Promise<unknown>>();
  return {
    async chat({
      app = DEFAULT_APP,
      message,
      attachments = [],
      model,
      messages,
      wait = 0,
      signal = NEVER,
      ...input
    }) {
      const { sessionId, access, creation } = resolve(input);
      await Promise.all(opening);
      const view = await conversations.chat(
        {
          sessionId,
          access,
          app,
          message: readMessage(message, attachments.length > 0),
          attachments: readAttachments(attachments),
          rig: model ?? null,
          replaces: input.replaces ?? null,
          busy: input.busy ?? null,
          publicKey: null,
          userState: input.userState ?? null,
          clientId: null,
          options: { responseSchema: input.responseSchema },
          idempotencyKey: input.idempotencyKey ?? null,
          messages: readRange(messages),
          waitMs: wait,
          signal,
        },
        creation,
      );
      return snapshotOf(view);
    },
    async upload({ app = DEFAULT_APP, content, mediaType, name = "", ...input }) {
      const { sessionId, access, creation } = resolve(input);
      const sent = { sessionId, access, app, name, declared: mediaType, length: null, content };
      return await files.upload(sent, creation);
    },
    async download({ file: id, ...input }) {
      const { sessionId, access } = resolve(input);
      const { file, read } = await files.open(sessionId, id.toLowerCase(), access);
      return { file, content: await read(null) };
    },
    async state({ messages, wait = 0, signal = NEVER, ...input }) {
      const { sessionId, access, creation } = resolve(input);
      const range = readRange(messages);
      const request = { sessionId, access, messages: range, userState: null, waitMs: wait, signal };
      return snapshotOf(await conversations.state(request, creation));
    },
    subscribe: (input) => subscribe(feed, resolve(input), input, opening),
    async interrupt({ messages, ...input }) {
      const { sessionId, access, creation } = resolve(input);
      return snapshotOf(await conversations.interrupt(sessionId, access, creation, readRange(messages)));
    },
    async delete(input) {
      const { sessionId, access } = resolve(input);
      await threads.remove(sessionId, access);
    },
    async rename({ title, ...input }) {
      const { sessionId, access } = resolve(input);
      return await threads.rename(sessionId, title, access);
    },
    async actions(input) {
      const { sessionId, access, creation } = resolve(input);
      return await actions.list(sessionId, access, creation);
    },
    async decide({ action, decision, result = null, ...input }) {
      const { sessionId, access } = resolve(input);
      return await actions.decide(sessionId, action, { decision, result }, access);
    },
  };
}

/** The session, access rights and creation options of a call. */
interface ResolvedAccess {
  readonly sessionId: string;
  readonly access: SessionAccess;
  /** A new session keeps the caller's spelling of its id. */
  readonly creation: { readonly spelling: string; readonly admit: null };
}

/** Throws `InvalidRequest` if the session id is not a UUID. */
function resolveAccess({ session, user }: Conversation, apps: readonly string[]): ResolvedAccess {
  const { data: sessionId, error } = z.object({ session: SessionId }).safeParse({ session });
  if (error !== undefined) throw invalidParameter("option", { session }, error);
  const creation = { spelling: session, admit: null };
  if (user === undefined) return { sessionId: sessionId.session, access: ANONYMOUS, creation };
  const owner = createHash("sha256").update(`engine\0${user}`).digest("base64url");
  return {
    sessionId: sessionId.session,
    access: { apps: null, user: { owner, apps, takesNew: true } },
    creation,
  };
}

/** Throws `InvalidRequest` for too many files, or one that is named twice. */
function readAttachments(given: readonly string[]): readonly string[] {
  const ids = given.map((id) => id.toLowerCase());
  if (ids.length > ATTACHMENTS_MAX || new Set(ids).size < ids.length)
    throw new InvalidRequest(
      "parameter_invalid",
      `attachments must be at most ${ATTACHMENTS_MAX} files, each named once.`,
    );
  return ids;
}

/** Throws `InvalidRequest` if the number is out of range. */
function readRange(messages: StateInput["messages"]): MessageRange | null {
  if (messages === undefined) return null;
  const { last, before } = messages;
  if (!Number.isInteger(last) || last < 0 || last > LAST_MESSAGES_MAX)
    throw new InvalidRequest(
      "parameter_invalid",
      `messages.last must be a whole number from 0 to ${LAST_MESSAGES_MAX}.`,
    );
  return { last, before: before?.toLowerCase() ?? null };
}

function snapshotOf({ parts }: SnapshotView): Snapshot {
  return JSON.parse(Buffer.concat(parts).toString()) as Snapshot;
}

/** Opens a stream, and reopens it after the last event whenever the feed closes it because the consumer is slow. */
function subscribe(
  feed: Service["feed"],
  { sessionId, access, creation }: ResolvedAccess,
  { after, signal = NEVER, reasoning = false }: SubscribeInput,
  opening: Set<Promise<unknown>>,
): AsyncIterable<EngineEvent> {
  const streamAccess: StreamAccess = {
    session: access,
    endFor: (session) => (hiddenFrom(session, access) === null ? null : "session_not_found"),
    refresh: null,
    checkedAt: () => null,
  };
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  const openAfter = async (lastEventId: string | null) => {
    const queue = new FrameQueue();
    const include = reasoning ? GROUPS : WITHOUT_REASONING;
    const request = { sessionId, include, lastEventId, access: streamAccess };
    const open = await feed.open(request, queue, creation);
    // Register the listener here, so that it also works for a consumer that no longer requests events.
    const onAbort = addAbortListener(stopped, () => open.close());
    const close = (): void => {
      onAbort[Symbol.dispose]();
      open.close();
    };
    return { queue, close };
  };
  const first = openAfter(after ?? null);
  const opened: Promise<unknown> = first.then(
    () => opening.delete(opened),
    () => opening.delete(opened),
  );
  opening.add(opened);
  async function* read(): AsyncGenerator<EngineEvent, undefined> {
    let lastEventId = after ?? null;
    for (let stream = await first; ; stream = await openAfter(lastEventId)) {
      try {
        for await (const frame of stream.queue) {
          if (stopped.aborted) return undefined;
          if (frame.kind === "retry") continue;
          lastEventId = frame.id ?? lastEventId;
          if (frame.kind === "heartbeat") continue;
          // No group is excluded that could leave an event without its fields.
          yield { id: frame.id, event: frame.event as EngineEvent["event"] };
          if (isLast(frame.event)) return undefined;
        }
      } finally {
        stream.close();
      }
      if (stopped.aborted || feed.isStopped) return undefined;
    }
  }
  const events = read();
  const iterator: AsyncIterator<EngineEvent, undefined> = {
    next: () => events.next(),
    // Abort first, because the generator's own `return` would wait for the pending event.
    return: () => {
      stop.abort();
      return events.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Returns true for notices after which the stream must not be reopened. */
function isLast(event: UpdateEvent): boolean {
  if (event.type !== "system_notice") return false;
  return event.code === "session_deleted" || event.code === "session_not_found";
}

/** Buffers frames for the consumer. Estimates sizes by the length of the JSON. */
class FrameQueue implements StreamSink {
  readonly #frames: { readonly frame: StreamFrame; readonly size: number }[] = [];
  #size = 0;
  #isEnded = false;
  #wake: () => void = () => undefined;
  readonly #drained: (() => void)[] = [];

  write(frame: StreamFrame): number {
    const before = this.#size;
    const size = frame.kind === "event" ? JSON.stringify(frame.event).length : 0;
    this.#frames.push({ frame, size });
    this.#size += size;
    this.#wake();
    return before;
  }

  drained(): Promise<void> {
    if (this.#frames.length === 0 || this.#isEnded) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
    this.#release();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamFrame> {
    for (;;) {
      const next = this.#frames.shift();
      if (next !== undefined) {
        this.#size -= next.size;
        yield next.frame;
      } else if (this.#isEnded) {
        return;
      } else {
        this.#release();
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  #release(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }
}
