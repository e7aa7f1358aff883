import type { IncludeGroup, SessionEvent, SystemEvent } from "@colloquy/protocol";

/** An event of the log. The last two are for the nodes of the service; no client receives them. */
export type StoredEvent =
  | SessionEvent
  | { readonly type: "owner_changed"; readonly owner: string | null }
  /** Messages of another session were copied into this one. */
  | { readonly type: "messages_copied" };

export interface NumberedEvent {
  readonly number: number;
  readonly event: StoredEvent;
}

/** Groups of events that a subscriber requested beside the four specified types (contract section 5). */
export type Included = ReadonlySet<IncludeGroup>;

/** The notice for subscribers if the event does not contain the changed messages. */
const RESYNC_NOTICE = {
  type: "system_notice",
  message: "Messages were replaced. Fetch the session's state again.",
  level: "info",
  code: "resync",
} as const satisfies SessionEvent;

/** An event as clients receive it, without `session_id`. */
type Shown = SessionEvent | { readonly type: "tool_update" | "tool_complete" };

/**
 * Returns the event for a subscriber with these groups, without `session_id`; `null` to skip it. Without
 * groups, a subscriber gets exactly the four specified types with exactly the specified fields.
 */
export function projectEvent(event: StoredEvent, included: Included): Shown | null {
  switch (event.type) {
    case "title_changed":
    case "system_notice":
      return event;
    case "tool_update":
      if (included.has("tools")) return event;
      // The start of a call is an update without progress; the specification defines the event as "a tool
      // reported progress".
      return event.progress === null ? null : { type: event.type };
    case "tool_complete":
      return included.has("tools") ? event : { type: event.type };
    case "message_created":
    case "message_updated":
    case "message_completed":
      return included.has("messages") ? event : null;
    case "messages_removed":
      return included.has("messages") ? event : RESYNC_NOTICE;
    case "messages_copied":
      return RESYNC_NOTICE;
    case "state_changed":
    case "action_claimed":
    case "system_event":
      return included.has("state") ? event : null;
    case "owner_changed":
      return null;
  }
}

/** Returns the session's App after the events, `null` if they do not mention it. */
export function appAfter(events: readonly NumberedEvent[]): string | null {
  let app: string | null = null;
  for (const { event } of events) if (event.type === "state_changed") app = event.app;
  return app;
}

/** Returns the session's owner after the events; `undefined` if they do not change it. */
export function ownerAfter(events: readonly NumberedEvent[]): string | null | undefined {
  let owner: string | null | undefined;
  for (const { event } of events) if (event.type === "owner_changed") owner = event.owner;
  return owner;
}

/** Maximum number of system events in a snapshot, newest kept (contract section 2). */
export const SYSTEM_EVENTS_SHOWN = 100;

export interface SystemEventRecord {
  /** Number of the event that announced it. */
  readonly number: number;
  readonly item: SystemEvent;
}

/** Formats an event id: `n` counts within one incarnation (contract section 5). Clients treat ids as opaque. */
export function formatEventId(incarnation: string, n: number): string {
  return `${incarnation}-${n}`;
}

/** Parses an event id; `null` if this service cannot have issued it. */
export function parseEventId(text: string): { readonly incarnation: string; readonly n: number } | null {
  const match = /^([0-9a-z]{1,32})-(0|[1-9][0-9]{0,14})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { incarnation: match[1], n: Number(match[2]) };
}
