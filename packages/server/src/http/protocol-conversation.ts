// Implements `ProtocolConversation` for one request, on the services of the native API.

import { Readable } from "node:stream";
import {
  IncludeGroup,
  type Action,
  type PersistedMessage,
  type Snapshot,
  type Thread,
} from "@colloquy/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OpenFile } from "@colloquy/engine/internal/sessions/files";
import type { AppendedTurn } from "@colloquy/engine/internal/core/commands/append";
import type { EditInput } from "@colloquy/engine/internal/core/commands/edit";
import type { ActionAnswer } from "@colloquy/engine/internal/core/commands/decide-action";
import {
  InvalidRequest,
  ServiceError,
  Unavailable,
  unknownSession,
} from "@colloquy/engine/internal/core/errors";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import type { SentMessage } from "@colloquy/engine/internal/core/ports/driving/chat-request";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { StreamPosition } from "@colloquy/engine/internal/core/ports/driven/event-hub";
import type {
  NewSessionOptions,
  OpenStream,
  RecordPage,
  SnapshotView,
  StreamFrame,
  StreamSink,
} from "@colloquy/engine/internal/core/ports/driving/services";
import { formatEventId } from "@colloquy/engine/internal/core/session-event";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { appendBytes } from "@colloquy/engine/internal/core/written-bytes";
import { actorOf } from "./actors.ts";
import type { EventStream } from "./event-stream.ts";
import { joinAnswers } from "./following/joined-answer.ts";
import type {
  ProtocolConversation,
  ProtocolCopy,
  ProtocolFile,
  ProtocolMessage,
  ProtocolTurn,
  StreamFollower,
  StreamOptions,
} from "./protocol.ts";
import type { RouteParts } from "./routes/route-parts.ts";
import { sendStream } from "./stream-response.ts";

const PAGE = 1000;
const EVERY_GROUP: ReadonlySet<IncludeGroup> = new Set(IncludeGroup.options);
const WITHOUT_REASONING: ReadonlySet<IncludeGroup> = new Set(
  IncludeGroup.options.filter((group) => group !== "reasoning"),
);
const HEARTBEAT = ": heartbeat\n\n";
const NEVER = new AbortController().signal;

/** Fails instead of creating a missing session. */
const EXISTING: NewSessionOptions = {
  spelling: "",
  admit: () => {
    throw unknownSession();
  },
};

type Parts = Pick<RouteParts, "services" | "admission" | "answers"> & { readonly logger: Logger };

interface NamedInRequest {
  readonly app?: string | null | undefined;
  readonly client?: string | null | undefined;
}

export class RequestedConversation implements ProtocolConversation {
  readonly id: string;
  readonly #parts: Parts;
  readonly #request: FastifyRequest;
  readonly #app: string;
  readonly #client: string | null;
  #isChangeCounted = false;
  /** True after a message was counted but not stored: a second attempt is not counted again. */
  #isMessageCounted = false;

  /** `copy` is the id of a copy of the requested session. */
  constructor(
    parts: Parts,
    request: FastifyRequest,
    { app, client }: NamedInRequest = {},
    copy: string | null = null,
  ) {
    this.id = copy ?? request.caller.sessionId;
    this.#parts = parts;
    this.#request = request;
    this.#app = app ?? DEFAULT_APP;
    this.#client = client ?? null;
  }

  async admitChange(): Promise<void> {
    if (this.#isChangeCounted) return;
    this.#isChangeCounted = true;
    await this.#parts.admission.change(this.#request, this.id)?.();
  }

  async upload({ id, content, mediaType, name }: ProtocolFile): Promise<string> {
    const { services, admission } = this.#parts;
    const { caller } = this.#request;
    const app = this.#app;
    const { clientId, access } = caller.in(app, this.#client);
    await admission.upload(this.#request, { app, clientId, sessionId: this.id }, content.length);
    const creation = caller.creates ? admission.newSession(this.#request, { clientId }) : EXISTING;
    const stored = await services.files.upload(
      {
        id,
        sessionId: this.id,
        access,
        app,
        name,
        declared: mediaType,
        length: content.length,
        content: Readable.from([content]),
      },
      creation,
    );
    return stored.id;
  }

  openFile(id: string): Promise<OpenFile> {
    return this.#request.caller.run((access) => this.#parts.services.files.open(this.id, id, access));
  }

  async send({ text, options = {}, ...message }: ProtocolMessage): Promise<SentMessage> {
    const { services, admission } = this.#parts;
    const { caller } = this.#request;
    const app = this.#app;
    const { clientId, access } = caller.in(app, this.#client);
    if (!this.#isMessageCounted) {
      this.#isMessageCounted = true;
      const key = message.idempotencyKey ?? null;
      const isRepeat = key === null ? null : () => services.conversations.isRepeat(this.id, key);
      const counted = { app, clientId, sessionId: this.id };
      const { attachments = [] } = message;
      await admission.chat(this.#request, counted, isRepeat, { message: text, attachments, options });
    }
    const nothing = { rig: null, publicKey: null, userState: null, idempotencyKey: null };
    const chat = {
      sessionId: this.id,
      access,
      app,
      clientId,
      message: text,
      options,
      waitMs: 0,
      signal: NEVER,
    };
    const creation = caller.creates ? admission.newSession(this.#request, { clientId }) : EXISTING;
    const sent = await services.conversations.send({ ...nothing, ...message, ...chat }, creation);
    this.#isMessageCounted = false;
    return sent;
  }

  async isRepeat(idempotencyKey: string): Promise<boolean> {
    return await this.#parts.services.conversations.isRepeat(this.id, idempotencyKey);
  }

  position(): Promise<StreamPosition | null> {
    const { conversations } = this.#parts.services;
    return this.#request.caller.run((access) => conversations.position(this.id, access));
  }

  async snapshot(): Promise<Snapshot> {
    const { conversations } = this.#parts.services;
    const wanted = { sessionId: this.id, userState: null, waitMs: 0, signal: NEVER };
    return snapshotOf(
      await this.#request.caller.run(
        async (access) => await conversations.state({ ...wanted, access }, EXISTING),
      ),
    );
  }

  async *messages(): AsyncGenerator<readonly PersistedMessage[]> {
    const { threads } = this.#parts.services;
    for (let after: string | null = null, isLast = false; !isLast; ) {
      const from: string | null = after;
      const page: RecordPage = await this.#request.caller.run((access) =>
        threads.messages(this.id, from, PAGE, access),
      );
      for (let records = await page.read(null); records.length > 0; records = await page.read(after)) {
        yield records;
        after = records.at(-1)?.id ?? null;
      }
      isLast = page.next === null;
    }
  }

  async interrupt(turn?: number): Promise<Snapshot> {
    await this.admitChange();
    const { conversations } = this.#parts.services;
    return snapshotOf(
      await this.#request.caller.run((access) =>
        conversations.interrupt(this.id, access, EXISTING, null, turn),
      ),
    );
  }

  create(metadata: JsonObject = {}): Promise<Thread> {
    const { services, admission } = this.#parts;
    const creation = admission.newSession(this.#request);
    return this.#request.caller.run((access) =>
      services.threads.create(this.id, null, access, creation, metadata),
    );
  }

  thread(): Promise<Thread> {
    return this.#request.caller.run((access) => this.#parts.services.threads.get(this.id, access));
  }

  async edit(changes: EditInput): Promise<Thread> {
    return await this.#request.caller.run((access) =>
      this.#parts.services.threads.edit(this.id, changes, access),
    );
  }

  async remove(): Promise<void> {
    const { threads, audit } = this.#parts.services;
    await this.#request.caller.run(async (access) => {
      await threads.remove(this.id, access, await actorOf(this.#request, audit));
    });
  }

  async append(turns: readonly AppendedTurn[]): Promise<void> {
    const { services, admission } = this.#parts;
    const { caller } = this.#request;
    const creation = caller.creates ? admission.newSession(this.#request) : EXISTING;
    const { access: declared } = this.#request.routeOptions.config;
    // The gate has charged the body of any other route.
    if (typeof declared === "object" && declared.counted === "caller") {
      const counted = { app: this.#app, clientId: null, sessionId: this.id };
      await admission.written(this.#request, counted, null, appendBytes(turns));
    }
    await caller.run((access) => services.threads.append(this.id, turns, access, creation));
  }

  async fork(target: string, through: string): Promise<ProtocolCopy> {
    const { services, admission } = this.#parts;
    const request = this.#request;
    const creation = admission.newSession(request, { spelling: target });
    const admit = admission.copy(request, this.id);
    const isNew = await request.caller
      .run((access) => services.threads.fork(this.id, { session: target, through, admit }, access, creation))
      .then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof ServiceError) || error.code !== "session_not_empty") throw error;
          return false;
        },
      );
    const named = { app: this.#app, client: this.#client };
    const conversation = new RequestedConversation(this.#parts, request, named, target);
    conversation.#isMessageCounted = this.#isMessageCounted;
    return { conversation, isNew };
  }

  async turn(number: number, snapshot?: Snapshot): Promise<ProtocolTurn | null> {
    const first = await this.#turn(number, snapshot ?? (await this.snapshot()));
    // The turn may have ended after its messages were read.
    const isStale =
      first !== null &&
      first.endedAt !== null &&
      (first.answer === null || first.answer.status === "streaming");
    return isStale ? await this.#turn(number, await this.snapshot()) : first;
  }

  async #turn(number: number, { messages, system_events: events }: Snapshot): Promise<ProtocolTurn | null> {
    const ofTurn = messages.filter(({ turn }) => turn === number);
    const user = ofTurn.find(({ sender }) => sender === "user");
    if (user === undefined) return null;
    const answers = ofTurn.filter(({ sender }) => sender === "agent");
    const answer = joinAnswers(answers);
    const places = answers.map((one) => messages.indexOf(one));
    const [first = 0, last = first] = [places[0], places.at(-1)];
    const span = { after: messages[first - 1]?.id ?? null, length: last - first + 1 };
    const wanted = { number, answers: answers.length === 0 ? null : span };
    const stored = await this.#request.caller.run((access) =>
      this.#parts.services.threads.turn(this.id, wanted, access),
    );
    if (stored === null) return null;
    // Events stored by an older version have no turn.
    const failed = events.findLast(
      ({ type, payload }) =>
        type === "error" && (payload["turn"] ?? number) === number && payload["code"] === stored.failure,
    );
    const reason = failed?.payload["message"];
    return { ...stored, user, answer, reason: typeof reason === "string" ? reason : null };
  }

  async actions(): Promise<readonly Action[]> {
    return await this.#request.caller.run((access) =>
      this.#parts.services.actions.list(this.id, access, EXISTING),
    );
  }

  async decide(action: string, answer: ActionAnswer): Promise<Action> {
    const { services, admission } = this.#parts;
    const { caller } = this.#request;
    await this.admitChange();
    return await caller.run(async (access) => {
      const by = await actorOf(this.#request, services.audit);
      await admission.written(this.#request, { app: caller.app, clientId: null, sessionId: this.id }, answer);
      return await services.actions.decide(this.id, action, { ...answer, needsNoClaim: true }, access, by);
    });
  }

  async stream(
    reply: FastifyReply,
    begin: () => Promise<StreamFollower> | StreamFollower,
    { headers = {}, heartbeat = HEARTBEAT }: StreamOptions = {},
  ): Promise<void> {
    const request = this.#request;
    const { caller } = request;
    const route = request.routeOptions.url ?? "";
    const exchange = { request, reply, route, waitMs: 0, sessionId: this.id, fields: headers };
    const { services, logger } = this.#parts;
    const onFailure = (err: unknown): void =>
      logger.error({ err, request_id: request.id, route }, "the stream of a protocol failed");
    await sendStream(this.#parts, exchange, async (out) => {
      const follower = await begin();
      const sink = new FollowedStream(follower, out, { heartbeat, onFailure });
      if (!sink.begin()) return { close: () => undefined };
      const lastEventId = eventIdOf(follower.after);
      const include = follower.includesReasoning === true ? EVERY_GROUP : WITHOUT_REASONING;
      const sessionId = follower.conversationId ?? this.id;
      const wanted = { sessionId, access: caller.streamAccess(), include, lastEventId };
      return await services.updates.open(wanted, sink, EXISTING);
    });
  }

  async follow(
    begin: () => Promise<StreamFollower> | StreamFollower,
    { signal = NEVER }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { services, admission } = this.#parts;
    const request = this.#request;
    const release = await admission.stream(request, this.id);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // It may reject before it is awaited, and nothing awaits it if `begin` throws: unhandled, that ends the process.
    promise.catch(() => undefined);
    const disconnected = (): void => reject(new ClientGone());
    request.raw.socket.once("close", disconnected);
    const aborted = (): void => resolve();
    signal.addEventListener("abort", aborted);
    let open: OpenStream | null = null;
    try {
      if (request.raw.socket.destroyed) throw new ClientGone();
      const { begin: start, encode, ...follower } = bound(await begin());
      start();
      if (follower.isOver() || signal.aborted) return;
      const sink: StreamSink = {
        write(frame) {
          if (frame.kind !== "event" || follower.isOver()) return 0;
          try {
            encode(frame.event);
          } catch (error) {
            // Thrown at the feed, it would keep the event from the session's other streams.
            reject(error);
          }
          if (follower.isOver()) resolve();
          return 0;
        },
        drained: () => Promise.resolve(),
        end: () => reject(new AnswerCutOff()),
      };
      const wanted = {
        sessionId: follower.sessionId ?? this.id,
        access: request.caller.streamAccess(),
        include: EVERY_GROUP,
        lastEventId: eventIdOf(follower.after),
      };
      open = await services.updates.open(wanted, sink, EXISTING);
      await promise;
    } finally {
      signal.removeEventListener("abort", aborted);
      request.raw.socket.off("close", disconnected);
      open?.close();
      release?.();
    }
  }
}

/** The service stopped, or the caller lost access, before the answer was complete. */
class AnswerCutOff extends Unavailable {
  constructor() {
    const detail =
      "The answer goes on, but this request cannot wait for it any longer. Fetch the conversation.";
    super(503, "answer_cut_off", detail, 1);
  }
}

/** The client of a waiting request has disconnected. Nobody reads the response. */
class ClientGone extends InvalidRequest {
  constructor() {
    super("client_disconnected", "The client closed the connection before the answer was complete.");
  }
}

function bound(follower: StreamFollower) {
  return {
    after: follower.after,
    sessionId: follower.conversationId,
    begin: () => follower.begin?.(),
    encode: (event: Parameters<StreamFollower["encode"]>[0]) => follower.encode(event),
    isOver: () => follower.isOver,
  };
}

function eventIdOf(after: StreamFollower["after"]): string | null {
  return typeof after === "object" && after !== null ? formatEventId(after.incarnation, after.head) : after;
}

function snapshotOf({ parts }: SnapshotView): Snapshot {
  return JSON.parse(Buffer.concat(parts).toString()) as Snapshot;
}

interface FollowOptions {
  readonly heartbeat: string;
  /** Called when the follower throws, after which the response is cut off. */
  readonly onFailure: (error: unknown) => void;
}

/** Encodes a session's events with a `StreamFollower` and writes them to the response. */
export class FollowedStream implements StreamSink {
  readonly #follower: StreamFollower;
  readonly #out: Pick<EventStream, "writeBytes" | "drained" | "end">;
  readonly #heartbeat: Buffer;
  readonly #onFailure: FollowOptions["onFailure"];
  #isDone = false;

  constructor(
    follower: StreamFollower,
    out: Pick<EventStream, "writeBytes" | "drained" | "end">,
    { heartbeat, onFailure }: FollowOptions,
  ) {
    this.#follower = follower;
    this.#out = out;
    this.#heartbeat = Buffer.from(heartbeat);
    this.#onFailure = onFailure;
  }

  /** Writes the text that precedes the events. Returns false if the response is already complete. */
  begin(): boolean {
    this.#send(this.#follower.begin?.() ?? "");
    return !this.#isDone;
  }

  write(frame: StreamFrame): number {
    if (this.#isDone || frame.kind === "retry") return 0;
    if (frame.kind !== "event") return this.#out.writeBytes(this.#heartbeat);
    try {
      return this.#send(this.#follower.encode(frame.event));
    } catch (error) {
      // Thrown at the feed, it would keep the event from the session's other streams.
      this.#isDone = true;
      this.#onFailure(error);
      this.#out.end("abort");
      return 0;
    }
  }

  drained(): Promise<void> {
    return this.#out.drained();
  }

  /**
   * Aborts the response if the feed ends the stream early (the service stops, the caller lost access, or the
   * client is too slow), so that the client detects the loss and resumes.
   */
  end(): void {
    if (!this.#isDone) this.#out.end("abort");
  }

  #send(text: string): number {
    const undrained = text === "" ? 0 : this.#out.writeBytes(Buffer.from(text));
    if (this.#follower.isOver) {
      this.#isDone = true;
      const { finish } = this.#follower;
      if (finish === undefined) this.#out.end("finish");
      else void this.#finish(finish.call(this.#follower));
    }
    return undrained;
  }

  async #finish(last: Promise<string>): Promise<void> {
    try {
      const rest = await last;
      if (rest !== "") this.#out.writeBytes(Buffer.from(rest));
      this.#out.end("finish");
    } catch (error) {
      this.#onFailure(error);
      this.#out.end("abort");
    }
  }
}
