// Folds a session's events as a client would by contract section 5. The stored state must equal the result.

import type { Message, PendingAction, SystemEvent } from "@colloquy/protocol";
import { toPendingAction } from "../../../core/action.ts";
import { toWireMessage } from "../../../core/message.ts";
import type { StoredSession } from "../../../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../../../core/session-event.ts";
import { appOf, PLACEHOLDER_TITLE } from "../../../core/session.ts";
import { MODEL } from "./scenario.ts";

export interface Shown {
  readonly head: number;
  readonly title: string;
  readonly status: string;
  readonly model: string;
  readonly app: string;
  readonly userState: unknown;
  readonly messages: readonly Message[];
  readonly systemEvents: readonly SystemEvent[];
  readonly pendingActions: readonly PendingAction[];
}

const NEW: Shown = {
  head: 0,
  title: PLACEHOLDER_TITLE,
  status: "idle",
  model: MODEL,
  app: "default",
  userState: null,
  messages: [],
  systemEvents: [],
  pendingActions: [],
};

/** Folds events over what was shown before them; by default a new session. */
export function foldEvents(events: readonly NumberedEvent[], before: Shown = NEW): Shown {
  return events.reduce((shown, { number, event }) => {
    const next = { ...shown, head: number };
    switch (event.type) {
      case "title_changed":
        return { ...next, title: event.new_title };
      case "state_changed":
        return {
          ...next,
          status: event.status,
          model: event.model,
          app: event.app,
          userState: event.user_state,
        };
      case "message_created":
        return { ...next, messages: [...shown.messages, event.message] };
      case "message_updated":
      case "message_completed":
        return {
          ...next,
          messages: shown.messages.map((message) =>
            message.id === event.message.id ? event.message : message,
          ),
        };
      case "messages_removed": {
        const at = shown.messages.findIndex(({ id }) => id === event.from);
        const since = shown.messages[at]?.created_at ?? "";
        return {
          ...next,
          messages: shown.messages.slice(0, at),
          systemEvents: shown.systemEvents.filter(({ created_at }) => created_at < since),
        };
      }
      case "system_event":
        return {
          ...next,
          systemEvents: [...shown.systemEvents, event.item].slice(-100),
          pendingActions: pendingAfter(shown.pendingActions, event.item),
        };
      case "action_claimed":
        return {
          ...next,
          pendingActions: shown.pendingActions.map((action) =>
            action.id === event.id ? { ...action, claim_expires_at: event.claim_expires_at } : action,
          ),
        };
      default:
        return next;
    }
  }, before);
}

function pendingAfter(pending: readonly PendingAction[], { type, payload }: SystemEvent): PendingAction[] {
  if (type === "action_requested") return [...pending, payload as PendingAction];
  return pending.filter(({ id }) => type !== "action_resolved" || id !== payload["id"]);
}

/** Returns the stored session in the same form. */
export function shownOf({ session, messages, systemEvents, pendingActions }: StoredSession): Shown {
  return {
    head: session.head,
    title: session.title,
    status: session.status,
    model: session.model,
    app: appOf(session),
    userState: session.userState,
    messages: messages.map(toWireMessage),
    systemEvents: systemEvents.map(({ item }) => item),
    pendingActions: pendingActions.map(toPendingAction),
  };
}
