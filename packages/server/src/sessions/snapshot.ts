// The snapshot of one live session, kept as text that is ready to be sent. Messages that will not change any more are joined into chunks,
// so that a poll costs a copy of what changed and not of the whole conversation.

import { createHash, type Hash } from "node:crypto";
import type { Message, PendingAction, SessionStatus, SystemEvent } from "@colloquy/protocol";
import type { JsonObject } from "../core/json.ts";
import { formatEventId, SYSTEM_EVENTS_SHOWN } from "../core/session-event.ts";
import { isHidden, type PlacedMessage } from "../core/message.ts";
import type { SnapshotView } from "../core/ports/driving/services.ts";

/** Settled messages are joined this many at a time. */
const CHUNK_MESSAGES = 32;
const LOOSE_OVERHEAD = 512;
/** Shorter snapshots are joined: one write of a copy costs less than several without. */
const SHORT_BYTES = 16_384;
const OPENING = Buffer.from('{"messages":[');

/** The parts of a snapshot that are not messages or system events. */
export interface SnapshotFields {
  readonly sessionId: string;
  readonly life: string;
  readonly title: string;
  readonly status: SessionStatus;
  readonly model: string;
  readonly app: string;
  readonly userState: JsonObject | null;
  readonly head: number;
}

interface LooseMessage {
  message: Message;
  json: string | null;
  /** Characters that its tools' calls and results take as JSON; `null` until somebody asks. */
  toolCharacters: number | null;
}

export class Snapshot {
  /** Chunks of settled messages, oldest first, commas between and after them included. */
  readonly #chunks: Buffer[] = [OPENING];
  #chunkBytes = OPENING.length;
  /** Digest of all chunks, copied for each view; `null` while there are none but the opening. */
  #digest: Hash | null = null;
  /** Messages after the chunks, in the order of arrival. */
  readonly #loose: LooseMessage[] = [];
  readonly #systemEvents: string[] = [];
  /** Actions that nobody has decided yet, oldest first, by their ids. */
  readonly #pendingActions = new Map<string, string>();
  #fields: SnapshotFields;
  #view: SnapshotView | null = null;

  constructor(fields: SnapshotFields) {
    this.#fields = fields;
  }

  get fields(): SnapshotFields {
    return this.#fields;
  }

  /** Bytes that this snapshot holds in memory, roughly: what the memory budget counts. Loose messages are held as text and as bytes. */
  get weight(): number {
    let loose = 0;
    for (const one of this.#loose) {
      one.toolCharacters ??= toolCharacters(one.message);
      loose += 2 * (one.message.content.length + one.toolCharacters) + LOOSE_OVERHEAD;
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
    this.#loose.push({ message, json: null, toolCharacters: null });
    this.#view = null;
  }

  /** Replaces a message; answers `false` when it is settled and cannot change. */
  replaceMessage(message: Message): boolean {
    const loose = this.#findLoose(message.id);
    if (loose === undefined) return false;
    // Text that streams leaves the tools as they are, and must not make them cost again.
    if (
      message.tool_calls !== loose.message.tool_calls ||
      message.tool_results !== loose.message.tool_results
    )
      loose.toolCharacters = null;
    loose.message = message;
    loose.json = null;
    this.#view = null;
    return true;
  }

  /** The agent message that streams now, as shown so far. */
  streamingMessage(): Message | null {
    return this.#loose.findLast(({ message }) => message.status === "streaming")?.message ?? null;
  }

  /** As `streamingMessage`, with its place. */
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

  /** What nobody has decided yet, oldest first. */
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

  /** The action has been decided, one way or another. */
  removePendingAction(id: string): void {
    this.#pendingActions.delete(id);
    this.#view = null;
  }

  view(): SnapshotView {
    this.#view ??= this.#build();
    return this.#view;
  }

  #build(): SnapshotView {
    this.#settle();
    const text = this.#tailText();
    const digest = this.#digest?.copy() ?? null;
    // Copies, because the view outlives what is settled later.
    if (this.#chunkBytes + Buffer.byteLength(text) < SHORT_BYTES) {
      const joined = keptBytes(text, this.#chunks);
      return new TaggedView([joined], joined.length, digest, joined.subarray(this.#chunkBytes));
    }
    const tail = keptBytes(text);
    return new TaggedView([...this.#chunks, tail], this.#chunkBytes + tail.length, digest, tail);
  }

  #settle(): void {
    for (;;) {
      const unsettled = this.#loose.findIndex(({ message }) => !isSettled(message));
      const settled = unsettled < 0 ? this.#loose.length : unsettled;
      const shown = this.#loose.filter(({ message }) => !isHidden(message)).length;
      // The last message that is shown stays loose: after it the list may end, and a chunk carries the comma behind each of its messages.
      if (Math.min(settled, shown - 1) < CHUNK_MESSAGES) return;
      const chunk = this.#loose.splice(0, CHUNK_MESSAGES).map((loose) => `${messageJson(loose)},`);
      const bytes = keptBytes(chunk.join(""));
      this.#chunks.push(bytes);
      this.#chunkBytes += bytes.length;
      this.#digest = (this.#digest ?? openingDigest()).update(bytes);
    }
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
      last_event_id: formatEventId(fields.life, fields.head),
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

/** The entity tag is made when somebody asks for it: whoever chats is sent none. */
class TaggedView implements SnapshotView {
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  readonly #settled: Hash | null;
  readonly #tail: Buffer;
  #etag: string | null = null;

  /** `settled` is the digest of all before `tail`, `null` when that is the opening alone. */
  constructor(parts: readonly Uint8Array[], length: number, settled: Hash | null, tail: Buffer) {
    this.parts = parts;
    this.length = length;
    this.#settled = settled;
    this.#tail = tail;
  }

  get etag(): string {
    if (this.#etag === null) {
      const digest = this.#settled ?? openingDigest();
      this.#etag = `"${digest.update(this.#tail).digest("base64url").slice(0, 27)}"`;
    }
    return this.#etag;
  }
}

/**
 * Returns `before` and the UTF-8 bytes of `text`, joined in an unpooled buffer: a small pooled one would keep its
 * 64 KiB slab in memory as long as the session.
 */
function keptBytes(text: string, before: readonly Buffer[] = []): Buffer {
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

function isSettled(message: Message): boolean {
  return message.status !== "queued" && message.status !== "streaming";
}

function toolCharacters({ tool_calls, tool_results }: Message): number {
  if (tool_calls === undefined) return 0;
  return JSON.stringify(tool_calls).length + JSON.stringify(tool_results ?? []).length;
}

function messageJson(loose: LooseMessage): string {
  loose.json ??= JSON.stringify(loose.message);
  return loose.json;
}
