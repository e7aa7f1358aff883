// The snapshot of a session in memory, as bytes that are ready to send. Messages that can no longer change
// are kept only as these bytes, in chunks, so that a poll copies few of them.

import { createHash, type Hash } from "node:crypto";
import type {
  Message,
  PendingAction,
  SessionStatus,
  Snapshot as WireSnapshot,
  SystemEvent,
} from "@colloquy/protocol";
import type { JsonObject } from "../core/json.ts";
import { formatEventId, SYSTEM_EVENTS_SHOWN } from "../core/session-event.ts";
import { isHidden, type PlacedMessage } from "../core/message.ts";
import { NotFound } from "../core/errors.ts";
import type { MessageRange, SnapshotView } from "../core/ports/driving/services.ts";

const LOOSE_OVERHEAD = 512;
/**
 * Maximum bytes of a snapshot in one part, and of a chunk to which messages are added. Below this size, one
 * copy costs less than several writes.
 */
const SHORT_BYTES = 16_384;
const OPENING = Buffer.from('{"messages":[');
const NO_BYTES = Buffer.alloc(0);

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

/** Final messages, each followed by a comma. */
interface Chunk {
  bytes: Buffer;
  /** Index of the first message in the session. */
  readonly first: number;
  /** Byte offset of each message. */
  readonly starts: readonly number[];
}

export class Snapshot {
  /** Oldest first. */
  readonly #chunks: Chunk[] = [];
  /** Total bytes of the opening and all chunks. */
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
  /** The most recent view of the latest messages, for polling clients. */
  #newest: { readonly last: number; readonly view: SnapshotView } | null = null;

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
    this.#changed();
  }

  addMessage(message: Message): void {
    this.#loose.push({ message, json: null, otherCharacters: null });
    this.#changed();
  }

  /** Replaces a message. Returns false if its id is unknown. */
  replaceMessage(message: Message): boolean {
    // Final messages change only by feedback, a summary, and the removal of later messages.
    const loose = this.#loosened(message.id);
    if (loose === undefined) return false;
    // Streaming text does not change the rest, so its size is not computed again.
    if (ANSWER_PARTS.some((part) => message[part] !== loose.message[part])) loose.otherCharacters = null;
    loose.message = message;
    loose.json = null;
    this.#changed();
    return true;
  }

  /**
   * Removes a message with all after it, and the system events that are not older. Returns false if there is no such
   * message.
   */
  removeFrom(id: string): boolean {
    const first = this.#loosened(id);
    if (first === undefined) return false;
    this.#loose.splice(this.#loose.indexOf(first));
    const kept = this.#systemEvents.filter(
      (json) => (JSON.parse(json) as SystemEvent).created_at < first.message.created_at,
    );
    this.#systemEvents.splice(0, this.#systemEvents.length, ...kept);
    this.#changed();
    return true;
  }

  /** Returns the streaming agent message with its index. */
  streaming(): PlacedMessage | null {
    const at = this.#loose.findLastIndex(({ message }) => message.status === "streaming");
    const message = this.#loose[at]?.message;
    if (message === undefined) return null;
    return { message, index: this.#chunkedMessages + at };
  }

  addSystemEvent(item: SystemEvent): void {
    this.#systemEvents.push(JSON.stringify(item));
    if (this.#systemEvents.length > SYSTEM_EVENTS_SHOWN) this.#systemEvents.shift();
    this.#changed();
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
    this.#changed();
  }

  /** Sets when the claim of an action expires; `null` without a claim. */
  claimPendingAction(id: string, claim_expires_at: string | null): void {
    const json = this.#pendingActions.get(id);
    if (json === undefined) return;
    this.#pendingActions.set(
      id,
      JSON.stringify({ ...(JSON.parse(json) as PendingAction), claim_expires_at }),
    );
    this.#changed();
  }

  /** Removes an action that is no longer pending. */
  removePendingAction(id: string): void {
    this.#pendingActions.delete(id);
    this.#changed();
  }

  /**
   * Returns the snapshot with all messages or a range of them.
   * @throws NotFound if the message `before` does not exist
   */
  view(range: MessageRange | null = null): SnapshotView {
    if (range === null) return (this.#view ??= this.#build());
    const { last, before } = range;
    if (before !== null) return this.#buildRange(last, this.#indexOf(before));
    if (this.#newest?.last !== last) this.#newest = { last, view: this.#buildRange(last, null) };
    return this.#newest.view;
  }

  #changed(): void {
    this.#view = null;
    this.#newest = null;
  }

  #build(): SnapshotView {
    this.#fillChunks();
    const text = this.#tailText();
    const digest = this.#digest?.copy() ?? null;
    const before = [OPENING, ...this.#chunks.map(({ bytes }) => bytes)];
    const view = viewOf(before, this.#chunkBytes, text, () => digest ?? openingDigest());
    const [chunk] = this.#chunks;
    const [joined] = view.parts;
    // The chunk and the view share memory.
    if (view.parts.length === 1 && chunk !== undefined && joined instanceof Buffer)
      chunk.bytes = joined.subarray(OPENING.length, this.#chunkBytes);
    return view;
  }

  /**
   * Builds a snapshot with the `last` messages before the index `end`. If `end` is `null`, the range ends
   * with the session, and also includes the first message that can change and all later ones.
   */
  #buildRange(last: number, end: number | null): SnapshotView {
    this.#fillChunks();
    const chunked = this.#chunkedMessages;
    const start = end === null ? this.#startOfNewest(last) : Math.max(0, end - last);
    const loose = this.#loose.slice(
      Math.max(0, start - chunked),
      end === null ? undefined : Math.max(0, end - chunked),
    );
    const text = this.#tailText(loose, { messages_before: start });
    const parts = [OPENING, ...this.#chunkParts(start, Math.min(end ?? chunked, chunked))];
    const final = parts.at(-1);
    // In a chunk, a comma follows each message. Omit that of the last one.
    if (parts.length > 1 && final !== undefined && text.startsWith("]"))
      parts.splice(-1, 1, final.subarray(0, -1));
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    return viewOf(parts, bytes, text, () =>
      parts.reduce((digest, part) => digest.update(part), createHash("sha256")),
    );
  }

  /**
   * Returns the index of the first of the `last` visible messages, or of the first message that can change if
   * that is lower.
   */
  #startOfNewest(last: number): number {
    const chunked = this.#chunkedMessages;
    const visible = this.#loose.flatMap(({ message }, at) => (isHidden(message) ? [] : [chunked + at]));
    const earlier = last - visible.length;
    const start =
      earlier >= 0
        ? Math.max(0, Math.min(visible[0] ?? chunked, chunked) - earlier)
        : (visible[visible.length - last] ?? chunked + this.#loose.length);
    const changeable = this.#loose.findIndex(({ message }) => !isFinal(message));
    return changeable < 0 ? start : Math.min(start, chunked + changeable);
  }

  /** Returns the bytes of the messages in chunks from index `start` (inclusive) to `end` (exclusive). */
  #chunkParts(start: number, end: number): Buffer[] {
    return this.#chunks.flatMap(({ bytes, first, starts }) => {
      const from = Math.max(0, start - first);
      const to = Math.min(starts.length, end - first);
      return from < to ? [bytes.subarray(starts[from], starts[to] ?? bytes.length)] : [];
    });
  }

  get #chunkedMessages(): number {
    const last = this.#chunks.at(-1);
    return last === undefined ? 0 : last.first + last.starts.length;
  }

  #indexOf(id: string): number {
    const loose = this.#loose.findIndex(({ message }) => message.id === id);
    if (loose >= 0) return this.#chunkedMessages + loose;
    const place = this.#placeInChunks(id);
    if (place !== null) return place.chunk.first + place.at;
    throw new NotFound(
      "message_not_found",
      "This session has no message with the id in `before`. It may have been removed. Fetch the state without `before`.",
    );
  }

  /** Returns the chunk of a message, and its index there. */
  #placeInChunks(id: string): { readonly chunk: Chunk; readonly at: number } | null {
    const field = Buffer.from(`"id":${JSON.stringify(id)}`);
    for (const chunk of this.#chunks) {
      const { bytes, starts } = chunk;
      for (let found = bytes.indexOf(field); found >= 0; ) {
        const at = starts.findLastIndex((start) => start <= found);
        const end = starts[at + 1] ?? bytes.length;
        // The match may be the `id` of a call or a result. Skips the rest of the message, to parse it only once.
        const json = bytes.subarray(starts[at], end - 1);
        if ((JSON.parse(json.toString()) as Message).id === id) return { chunk, at };
        found = bytes.indexOf(field, end);
      }
    }
    return null;
  }

  /** Returns the message. If it is in a chunk, first unpacks that chunk and all after it. */
  #loosened(id: string): LooseMessage | undefined {
    const found = this.#findLoose(id);
    if (found !== undefined) return found;
    const place = this.#placeInChunks(id);
    if (place === null) return undefined;
    this.#unpackChunks(this.#chunks.indexOf(place.chunk));
    return this.#findLoose(id);
  }

  #fillChunks(): void {
    // All messages outside the chunks may be hidden or gone: an answer was rejected, or an edit removed them.
    if (!this.#loose.some(({ message }) => !isHidden(message)))
      this.#unpackChunks(Math.max(0, this.#chunks.length - 1));
    const changeable = this.#loose.findIndex(({ message }) => !isFinal(message));
    const final = changeable < 0 ? this.#loose.length : changeable;
    const shown = this.#loose.filter(({ message }) => !isHidden(message)).length;
    // Keep the last visible message outside the chunks, in which a comma follows each message.
    let left = this.#loose.splice(0, Math.max(0, Math.min(final, shown - 1)));
    while (left.length > 0) left = this.#fillChunk(left);
  }

  /** Adds messages to the last chunk, or to a new one if it is full. Returns those that did not fit. */
  #fillChunk(messages: LooseMessage[]): LooseMessage[] {
    const last = this.#chunks.at(-1);
    const isFull = last === undefined || last.bytes.length >= SHORT_BYTES;
    const { bytes, first, starts } = isFull
      ? { bytes: NO_BYTES, first: this.#chunkedMessages, starts: [] }
      : last;
    const texts: string[] = [];
    const added: number[] = [];
    let length = bytes.length;
    for (const loose of messages) {
      if (length >= SHORT_BYTES) break;
      const text = `${messageJson(loose)},`;
      texts.push(text);
      added.push(length);
      length += Buffer.byteLength(text);
    }
    const chunk = { bytes: joinBytes(texts.join(""), [bytes]), first, starts: [...starts, ...added] };
    this.#chunks.splice(isFull ? this.#chunks.length : -1, 1, chunk);
    this.#chunkBytes += length - bytes.length;
    this.#digest = (this.#digest ?? openingDigest()).update(chunk.bytes.subarray(bytes.length));
    return messages.slice(texts.length);
  }

  /** Unpacks the chunk at the index `from`, and all after it. */
  #unpackChunks(from: number): void {
    const messages = this.#chunks
      .splice(from)
      .flatMap(({ bytes }) => JSON.parse(`[${bytes.toString().slice(0, -1)}]`) as Message[]);
    this.#loose.unshift(...messages.map((message) => ({ message, json: null, otherCharacters: null })));
    this.#chunkBytes = this.#chunks.reduce((sum, { bytes }) => sum + bytes.length, OPENING.length);
    this.#digest =
      this.#chunks.length === 0
        ? null
        : this.#chunks.reduce((digest, { bytes }) => digest.update(bytes), openingDigest());
  }

  /** Returns the JSON after the chunks: these messages and the remaining fields. */
  #tailText(loose = this.#loose, more: Pick<WireSnapshot, "messages_before"> = {}): string {
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
      ...more,
    });
    const messages = loose
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
  readonly #digest: () => Hash;
  readonly #tail: Buffer;
  #etag: string | null = null;

  /** `digest` returns the digest of everything before `tail`. */
  constructor(parts: readonly Uint8Array[], length: number, digest: () => Hash, tail: Buffer) {
    this.parts = parts;
    this.length = length;
    this.#digest = digest;
    this.#tail = tail;
  }

  get etag(): string {
    this.#etag ??= `"${this.#digest().update(this.#tail).digest("base64url").slice(0, 27)}"`;
    return this.#etag;
  }
}

/** Returns the view of `parts` of `bytes` bytes, followed by `text`. `digest` is as in `TaggedView`. */
function viewOf(parts: readonly Buffer[], bytes: number, text: string, digest: () => Hash): SnapshotView {
  // Copied, because the view outlives the current chunks.
  if (bytes + Buffer.byteLength(text) < SHORT_BYTES) {
    const joined = joinBytes(text, parts);
    return new TaggedView([joined], joined.length, digest, joined.subarray(bytes));
  }
  const tail = joinBytes(text);
  return new TaggedView([...parts, tail], bytes + tail.length, digest, tail);
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
