// The state from which events are derived: a conversation's snapshot, which events keep up to date, and its actions.

import { fold } from "@colloquy/client";
import type {
  Action,
  Message,
  PendingAction,
  ResolvedAction,
  Snapshot,
  UpdateEvent,
} from "@colloquy/protocol";
import type { ProtocolConversation } from "@colloquy/server/protocol";
import { incarnationOf } from "./positions.ts";

/** Updates from which no event of the agent API is derived. */
const INERT: ReadonlySet<UpdateEvent["type"]> = new Set([
  "message_delta",
  "reasoning_delta",
  "tool_update",
  "tool_complete",
  "system_notice",
  "action_claimed",
]);

export function mayAddEvents({ type }: UpdateEvent): boolean {
  return !INERT.has(type);
}

export class View {
  #snapshot: Snapshot;
  readonly #actions = new Map<string, Action>();
  /** Ids of actions by the id of their call. */
  readonly #byCall = new Map<string, Set<string>>();
  /** True after a new message: its answer may follow in the same transaction, before the state changes. */
  #isAnswerNext = false;

  constructor(snapshot: Snapshot, actions: readonly Action[]) {
    this.#snapshot = snapshot;
    for (const action of actions) this.#store(action);
  }

  static async read(conversation: Pick<ProtocolConversation, "snapshot" | "actions">): Promise<View> {
    const snapshot = await conversation.snapshot();
    // Saves the second read for most conversations: only calls with a decision, and calls that were interrupted while
    // they waited, have actions.
    const hasActions =
      snapshot.pending_actions.length > 0 ||
      snapshot.messages.some(({ tool_calls: calls = [] }) =>
        calls.some(({ decision, status }) => decision !== undefined || status === "interrupted"),
      );
    return new View(snapshot, hasActions ? await conversation.actions() : []);
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  get incarnation(): string {
    return incarnationOf(this.#snapshot);
  }

  /** True if the newest turn may still begin its answer, or report why it failed. */
  get mayProceed(): boolean {
    return this.#snapshot.is_processing || this.#isAnswerNext;
  }

  /** Applies an event. Returns false if the conversation must be read again. */
  apply(event: UpdateEvent): boolean {
    if (event.type === "messages_removed" || (event.type === "system_notice" && event.code === "resync"))
      return false;
    const folded = fold(this.#snapshot, event as Parameters<typeof fold>[1], null);
    if (folded === null) return false;
    this.#snapshot = folded.snapshot;
    if (event.type === "system_event") this.#applyAction(event.item);
    if (mayAddEvents(event))
      this.#isAnswerNext = event.type === "message_created" && event.message.sender === "user";
    return true;
  }

  #applyAction({ type, payload, created_at: at }: Snapshot["system_events"][number]): void {
    if (type === "action_requested") {
      const action = payload as unknown as PendingAction;
      this.#store({ ...action, status: "pending", result: null, resolved_at: null });
    } else if (type === "action_resolved") {
      const { id, status, result } = payload as unknown as ResolvedAction;
      const action = this.#actions.get(id);
      if (action !== undefined) this.#store({ ...action, status, result, resolved_at: at });
    }
  }

  #store(action: Action): void {
    this.#actions.set(action.id, action);
    const ids = this.#byCall.get(action.call_id) ?? new Set();
    this.#byCall.set(action.call_id, ids.add(action.id));
  }

  /** Returns the action of a call; `null` if the call has none, or if its action is no longer stored. */
  actionOf(message: Message, callId: string): Action | null {
    const ids = this.#byCall.get(callId);
    if (ids === undefined) return null;
    // Models may repeat the ids of calls in another message.
    const next = this.#answerAfter(message);
    for (const id of ids) {
      const action = this.#actions.get(id);
      if (action === undefined || action.created_at < message.created_at) continue;
      if (next === null || action.created_at < next.created_at) return action;
    }
    return null;
  }

  #answerAfter(message: Message): Message | null {
    const { messages } = this.#snapshot;
    let at = messages.lastIndexOf(message) + 1;
    while (at < messages.length && messages[at]?.sender !== "agent") at += 1;
    return messages[at] ?? null;
  }
}
