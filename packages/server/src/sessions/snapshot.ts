// The snapshot of a session in memory, as bytes that are ready to send. Messages that can no longer change
// are joined into chunks, so that a poll copies only the changed messages.

import { createHash, type Hash } from "node:crypto";
import type { Message, PendingAction, SessionStatus, SystemEvent } from "@colloquy/protocol";
import type { JsonObject } from "../core/json.ts";
import { formatEventId, SYSTEM_EVENTS_SHOWN } from "../core/session-event.ts";
import { isHidden, type PlacedMessage } from "../core/message.ts";
import type { SnapshotView } from "../core/ports/driving/services.ts";

/** Number of final messages in a chunk. */
const CHUNK_MESSAGES = 32;
const LOOSE_OVERHEAD = 512;
/** Maximum size of a snapshot in one part: copying costs less than several writes. */
const SHORT_BYTES = 16_384;
const OPENING = Buffer.from('{"messages":[');

/** The fields of a snapshot other than messages and system events. */
export interface SnapshotFields {
  readonly sessionId: string;
  readonly incarnation: string;
  readonly title: string;
  readonly status: SessionStatus;
  readonly model: string;
  readonly app: string;
  readonly userState: JsonObject | null;
  readonly head: number;
}

/** The possibly large parts of a message besides its text. */
const ANSWER_PARTS = ["tool_calls", "tool_results", "data", "sources"] as const;

interface LooseMessage {
  message: Message;
  json: string | null;
  /** Length of the message as JSON without its text; computed on demand. */
  otherCharacters: number | null;
}

export class Snapshot {
  /** Chunks of final messages, oldest first, with the comma after each message. */
  readonly #chunks: Buffer[] = [OPENING];
  #chunkBytes = OPENING.length;
  /** Digest of all chunks, copied for each view; `null` if there is only the opening. */
  #digest: Hash | null = null;
  /** Messages after the chunks, in the order of arrival. */
  readonly #loose: LooseMessage[] = [];
  readonly #systemEvents: string[] = [];
  /** Pending actions by id, oldest first. */
  readonly #pendingActions = new Map<string, string>();
  #fields: SnapshotFields;
  #view: SnapshotView | null = null;

  constructor(fields: SnapshotFields) {
    this.#fields = fields;
  }

  get fields(): SnapshotFields {
    return this.#fields;
  }

  /** Approximate bytes in memory, for the memory budget. Messages outside chunks are kept as text and as bytes. */
  get weight(): number {
    let loose = 0;
    for (const one of this.#loose) {
      one.otherCharacters ??= otherCharacters(one.message);
      loose += 2 * (one.message.content.length + one.otherCharacters) + LOOSE_OVERHEAD;
    }
    return (
      this.#chunkBytes +
      loose +
      charactersOf(this.#systemEvents) +
      charactersOf(this.#pendingActions.values())
    );
  }

  set(fields: Partial<SnapshotFields>): void {
    this.#fields = { ...this.#fields, ...fields };
    this.#view = null;
  }

  addMessage(message: Message): void {
    this.#loose.push({ message, json: null, otherCharacters: null });
    this.#view = null;
  }

  /** Replaces a message. Returns false if it is in a chunk and cannot change. */
  replaceMessage(message: Message): boolean {
    const loose = this.#findLoose(message.id);
    if (loose === undefined) return false;
    // Streaming text does not change the rest, so its size is not computed again.
    if (ANSWER_PARTS.some((part) => message[part] !== loose.message[part])) loose.otherCharacters = null;
    loose.message = message;
    loose.json = null;
    this.#view = null;
    return true;
  }

  /**
   * Removes a message with all after it, and the system events that are not older. Returns false if there is no such
   * message.
   */
  removeFrom(id: string): boolean {
    if (this.#findLoose(id) === undefined) this.#unpackChunks();
    const at = this.#loose.findIndex(({ message }) => message.id === id);
    const [first] = this.#loose.splice(at < 0 ? this.#loose.length : at);
    if (first === undefined) return false;
    const kept = this.#systemEvents.filter(
      (json) => (JSON.parse(json) as SystemEvent).created_at < first.message.created_at,
    );
    this.#systemEvents.splice(0, this.#systemEvents.length, ...kept);
    this.#view = null;
    return true;
  }

  /** Returns the streaming agent message with its index. */
  streaming(): PlacedMessage | null {
    const at = this.#loose.findLastIndex(({ message }) => message.status === "streaming");
    const message = this.#loose[at]?.message;
    if (message === undefined) return null;
    return { message, index: (this.#chunks.length - 1) * CHUNK_MESSAGES + at };
  }

  addSystemEvent(item: SystemEvent): void {
    this.#systemEvents.push(JSON.stringify(item));
    if (this.#systemEvents.length > SYSTEM_EVENTS_SHOWN) this.#systemEvents.shift();
    this.#view = null;
  }

  /** Pending actions, oldest first. */
  get pendingActions(): readonly PendingAction[] {
    return [...this.#pendingActions.values()].map((json) => JSON.parse(json) as PendingAction);
  }

  get hasPendingActions(): boolean {
    return this.#pendingActions.size > 0;
  }

  addPendingAction(action: PendingAction): void {
    this.#pendingActions.set(action.id, JSON.stringify(action));
    this.#view = null;
  }

  /** Sets when the claim of an action expires; `null` without a claim. */
  claimPendingAction(id: string, claim_expires_at: string | null): void {
    const json = this.#pendingActions.get(id);
    if (json === undefined) return;
    this.#pendingActions.set(
      id,
      JSON.stringify({ ...(JSON.parse(json) as PendingAction), claim_expires_at }),
    );
    this.#view = null;
  }

  /** Removes an action that is no longer pending. */
  removePendingAction(id: string): void {
    this.#pendingActions.delete(id);
    this.#view = null;
  }

  view(): SnapshotView {
    this.#view ??= this.#build();
    return this.#view;
  }

  #build(): SnapshotView {
    this.#fillChunks();
    const text = this.#tailText();
    const digest = this.#digest?.copy() ?? null;
    // Copies, because the view outlives the current chunks.
    if (this.#chunkBytes + Buffer.byteLength(text) < SHORT_BYTES) {
      const joined = joinBytes(text, this.#chunks);
      return new TaggedView([joined], joined.length, digest, joined.subarray(this.#chunkBytes));
    }
    const tail = joinBytes(text);
    return new TaggedView([...this.#chunks, tail], this.#chunkBytes + tail.length, digest, tail);
  }

  #fillChunks(): void {
    for (;;) {
      const changeable = this.#loose.findIndex(({ message }) => !isFinal(message));
      const final = changeable < 0 ? this.#loose.length : changeable;
      const shown = this.#loose.filter(({ message }) => !isHidden(message)).length;
      // The last visible message stays outside: a chunk ends each message with a comma, which must not follow
      // the last message.
      if (Math.min(final, shown - 1) < CHUNK_MESSAGES) return;
      const chunk = this.#loose.splice(0, CHUNK_MESSAGES).map((loose) => `${messageJson(loose)},`);
      const bytes = joinBytes(chunk.join(""));
      this.#chunks.push(bytes);
      this.#chunkBytes += bytes.length;
      this.#digest = (this.#digest ?? openingDigest()).update(bytes);
    }
  }

  #unpackChunks(): void {
    const messages = this.#chunks
      .splice(1)
      .flatMap((chunk) => JSON.parse(`[${chunk.toString().slice(0, -1)}]`) as Message[]);
    this.#loose.unshift(...messages.map((message) => ({ message, json: null, otherCharacters: null })));
    this.#chunkBytes = OPENING.length;
    this.#digest = null;
  }

  #tailText(): string {
    const fields = this.#fields;
    const rest = JSON.stringify({
      title: fields.title,
      is_processing: fields.status === "processing",
      user_state: fields.userState,
      session_id: fields.sessionId,
      app: fields.app,
      status: fields.status,
      model: fields.model,
      last_event_id: formatEventId(fields.incarnation, fields.head),
    });
    const messages = this.#loose
      .filter(({ message }) => !isHidden(message))
      .map(messageJson)
      .join();
    const pending = [...this.#pendingActions.values()].join();
    return `${messages}],"system_events":[${this.#systemEvents.join()}],"pending_actions":[${pending}],${rest.slice(1)}`;
  }

  #findLoose(id: string): LooseMessage | undefined {
    return this.#loose.findLast(({ message }) => message.id === id);
  }
}

/** Computes the entity tag on demand: responses to chats have none. */
class TaggedView implements SnapshotView {
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  readonly #chunksDigest: Hash | null;
  readonly #tail: Buffer;
  #etag: string | null = null;

  /** `chunksDigest` is the digest of everything before `tail`; `null` if that is only the opening. */
  constructor(parts: readonly Uint8Array[], length: number, chunksDigest: Hash | null, tail: Buffer) {
    this.parts = parts;
    this.length = length;
    this.#chunksDigest = chunksDigest;
    this.#tail = tail;
  }

  get etag(): string {
    if (this.#etag === null) {
      const digest = this.#chunksDigest ?? openingDigest();
      this.#etag = `"${digest.update(this.#tail).digest("base64url").slice(0, 27)}"`;
    }
    return this.#etag;
  }
}

/**
 * Returns `before` and the UTF-8 bytes of `text`, joined in an unpooled buffer: a small pooled one would keep its
 * 64 KiB slab in memory as long as the session.
 */
function joinBytes(text: string, before: readonly Buffer[] = []): Buffer {
  const start = before.reduce((sum, { length }) => sum + length, 0);
  const bytes = Buffer.allocUnsafeSlow(start + Buffer.byteLength(text));
  let at = 0;
  for (const part of before) at += part.copy(bytes, at);
  bytes.write(text, at);
  return bytes;
}

function openingDigest(): Hash {
  return createHash("sha256").update(OPENING);
}

function charactersOf(texts: Iterable<string>): number {
  let characters = 0;
  for (const text of texts) characters += text.length;
  return characters;
}

function isFinal(message: Message): boolean {
  return message.status !== "queued" && message.status !== "streaming";
}

function otherCharacters(message: Message): number {
  return ANSWER_PARTS.reduce((sum, part) => sum + (JSON.stringify(message[part])?.length ?? 0), 0);
}

function messageJson(loose: LooseMessage): string {
  loose.json ??= JSON.stringify(loose.message);
  return loose.json;
}
