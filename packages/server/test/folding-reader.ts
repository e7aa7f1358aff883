// A client as the contract describes it (section 5, "The fold"): takes a snapshot, subscribes after it with
// all groups, and folds the events. Independent of the server's own fold.

import type { IncludeGroup, PendingAction, Snapshot, SystemEvent, UpdateEvent } from "@colloquy/protocol";
import { isHidden, type PlacedMessage } from "@colloquy/engine/internal/core/message";
import type { OpenStream } from "@colloquy/engine/internal/core/ports/driving/services";
import { RecordingSink, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";

const EVERYTHING: ReadonlySet<IncludeGroup> = new Set(["tools", "messages", "state"]);

export class FoldingReader {
  readonly #sessionId: string;
  #service: TestService;
  #sink = new RecordingSink();
  #stream: OpenStream | null = null;
  #snapshot: Snapshot | null = null;
  /** Number of characters of the sink's text read so far. */
  #read = 0;
  /** Events that arrived twice or after a gap. */
  readonly faults: string[] = [];

  constructor(service: TestService, sessionId: string) {
    this.#service = service;
    this.#sessionId = sessionId;
  }

  get isConnected(): boolean {
    return this.#stream !== null;
  }

  get snapshot(): Snapshot | null {
    this.#takeIn();
    return this.#snapshot === null ? null : visible(this.#snapshot);
  }

  /** Connects, again after a drop or crash: resumes after its last event, or fetches the snapshot first. */
  async connect(service: TestService = this.#service): Promise<void> {
    this.drop();
    this.#service = service;
    this.#snapshot ??= await service.snapshot(this.#sessionId);
    this.#sink = new RecordingSink();
    this.#read = 0;
    const lastEventId = this.#snapshot.last_event_id;
    const request = { sessionId: this.#sessionId, access: FOR_ANYBODY, include: EVERYTHING, lastEventId };
    this.#stream = await service.feed.open(request, this.#sink, null);
    // The log no longer has the events after the last one: it begins with the snapshot again.
    if (this.snapshot === null) await this.connect();
  }

  drop(): void {
    this.#takeIn();
    this.#stream?.close();
    this.#stream = null;
  }

  #takeIn(): void {
    const end = this.#sink.text.lastIndexOf("\n\n");
    if (end < this.#read) return;
    const blocks = this.#sink.text.slice(this.#read, end).split("\n\n");
    this.#read = end + 2;
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined)
        this.#fold(JSON.parse(data) as UpdateEvent, /^id: (.*)$/m.exec(block)?.[1] ?? null);
    }
  }

  #fold(event: UpdateEvent, id: string | null): void {
    const snapshot = this.#snapshot;
    if (snapshot === null) return;
    if (event.type === "system_notice" && (event.code === "resync" || event.code === "session_deleted")) {
      this.#snapshot = null;
      return;
    }
    if (id !== null) this.#follow(snapshot, id);
    if (event.type === "message_delta") this.#grow(snapshot, event);
    else if ("message" in event && event.type !== "system_notice") put(snapshot, event);
    else if (event.type === "messages_removed") removeFrom(snapshot, event.from);
    else if (event.type === "title_changed") snapshot.title = event.new_title;
    else if (event.type === "system_event") this.#note(snapshot, event.item);
    else if (event.type === "action_claimed") {
      const { id: claimed, claim_expires_at } = event;
      // A new object: the system event that announced the action has the old one.
      snapshot.pending_actions = snapshot.pending_actions.map((action) =>
        action.kind === "client_tool" && action.id === claimed ? { ...action, claim_expires_at } : action,
      );
    } else if (event.type === "state_changed") {
      const { status, model, app, user_state } = event;
      Object.assign(snapshot, { status, model, app, user_state, is_processing: status === "processing" });
    }
  }

  #note(snapshot: Snapshot, item: SystemEvent): void {
    snapshot.system_events = [...snapshot.system_events, item].slice(-100);
    const { type, payload } = item;
    if (type === "action_requested") snapshot.pending_actions.push(payload as PendingAction);
    if (type !== "action_resolved") return;
    const left = snapshot.pending_actions.filter(({ id }) => id !== payload["id"]);
    if (left.length !== snapshot.pending_actions.length - 1)
      this.faults.push("an unknown action was resolved");
    snapshot.pending_actions = left;
  }

  #follow(snapshot: Snapshot, id: string): void {
    const [incarnation, number] = snapshot.last_event_id.split("-");
    if (id !== `${incarnation}-${Number(number) + 1}`)
      this.faults.push(`${snapshot.last_event_id} is followed by ${id}`);
    snapshot.last_event_id = id;
  }

  #grow(snapshot: Snapshot, delta: Extract<UpdateEvent, { type: "message_delta" }>): void {
    const message = snapshot.messages.find(({ id }) => id === delta.message_id);
    if (message === undefined) this.faults.push(`a delta for ${delta.message_id}, which was never created`);
    // The whole text: text that a crash lost before it was stored is gone.
    else if (delta.offset === 0) message.content = delta.text;
    else if (delta.offset > message.content.length) this.faults.push(`a gap before offset ${delta.offset}`);
    else if (delta.offset + delta.text.length > message.content.length) {
      message.content = message.content.slice(0, delta.offset) + delta.text;
    }
  }
}

/** Inserts an unknown message at the event's index: the snapshot may have left it out. */
function put(snapshot: Snapshot, { message, index }: PlacedMessage): void {
  const { messages } = snapshot;
  const at = messages.findIndex(({ id }) => id === message.id);
  snapshot.messages =
    at >= 0 ? messages.with(at, message) : messages.toSpliced(index ?? messages.length, 0, message);
}

/** Leaves out an answer without content, as snapshots do. */
function visible(snapshot: Snapshot): Snapshot {
  return { ...snapshot, messages: snapshot.messages.filter((message) => !isHidden(message)) };
}

function removeFrom(snapshot: Snapshot, from: string): void {
  const at = snapshot.messages.findIndex(({ id }) => id === from);
  const [first] = at < 0 ? [] : snapshot.messages.splice(at);
  if (first === undefined) throw new Error(`messages_removed from ${from}, which is unknown`);
  snapshot.system_events = snapshot.system_events.filter(({ created_at }) => created_at < first.created_at);
}
