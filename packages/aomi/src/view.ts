// A conversation as it is derived into events: its snapshot, kept up to date, and its wallet actions.

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

export class View {
  #snapshot: Snapshot;
  readonly #actions: Map<string, Action>;

  constructor(snapshot: Snapshot, actions: readonly Action[]) {
    this.#snapshot = snapshot;
    this.#actions = new Map(actions.map((action) => [action.id, action]));
  }

  static async read(conversation: Pick<ProtocolConversation, "snapshot" | "actions">): Promise<View> {
    const snapshot = await conversation.snapshot();
    // Most conversations have none. A call that was interrupted may have had one.
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

  /** Applies an event. Returns false if the conversation must be read again. */
  apply(event: UpdateEvent): boolean {
    if (event.type === "messages_removed" || (event.type === "system_notice" && event.code === "resync"))
      return false;
    const folded = fold(this.#snapshot, event as Parameters<typeof fold>[1], null);
    if (folded === null) return false;
    this.#snapshot = folded.snapshot;
    if (event.type === "system_event") this.#applyAction(event.item);
    return true;
  }

  #applyAction({ type, payload, created_at: at }: Snapshot["system_events"][number]): void {
    if (type === "action_requested") {
      const action = payload as unknown as PendingAction;
      this.#actions.set(action.id, { ...action, status: "pending", result: null, resolved_at: null });
    } else if (type === "action_resolved") {
      const { id, status, result } = payload as unknown as ResolvedAction;
      const action = this.#actions.get(id);
      if (action !== undefined) this.#actions.set(id, { ...action, status, result, resolved_at: at });
    }
  }

  /** Returns the action of a call; `null` if it has none, or if it is no longer stored. */
  actionOf(message: Message, callId: string): Action | null {
    const { messages } = this.#snapshot;
    // Models may repeat the ids of calls in another message.
    const next = messages.slice(messages.indexOf(message) + 1).find(({ sender }) => sender === "agent");
    for (const action of this.#actions.values()) {
      const isOfMessage =
        action.created_at >= message.created_at &&
        (next === undefined || action.created_at < next.created_at);
      if (action.call_id === callId && isOfMessage) return action;
    }
    return null;
  }
}
