// The events of a session's stream as a list for developers. Pure.

import type { SessionUpdate } from "@colloquy/client";

/** Groups of events for filtering; `other` holds types that this console does not know. */
export const EVENT_GROUPS = ["messages", "tools", "state", "notices", "other"] as const;
export type EventGroup = (typeof EVENT_GROUPS)[number];

export interface LoggedEvent {
  /** Position of the event in the log, from 1. */
  readonly number: number;
  /** The event's id; `null` for deltas and for notices of the stream itself. */
  readonly id: string | null;
  readonly type: string;
  readonly group: EventGroup;
  /**
   * Time of the event in milliseconds since 1970: its own, or the time of arrival for an event that is never
   * replayed; otherwise `null`.
   */
  readonly at: number | null;
  /** The JSON as received. */
  readonly event: unknown;
}

export interface EventLog {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /** Number of received frames, including dropped ones. */
  readonly received: number;
  /** The last id seen, to resume from; `null` before the first. */
  readonly lastId: string | null;
}

/** Maximum number of events kept. */
export const MAX_EVENTS = 1_000;
export const EMPTY_LOG: EventLog = { events: [], received: 0, lastId: null };

const GROUPS: Readonly<Record<SessionUpdate["type"], EventGroup>> = {
  message_created: "messages",
  message_updated: "messages",
  message_completed: "messages",
  message_delta: "messages",
  reasoning_delta: "messages",
  messages_removed: "messages",
  tool_update: "tools",
  tool_complete: "tools",
  state_changed: "state",
  action_claimed: "state",
  title_changed: "state",
  system_event: "notices",
  system_notice: "notices",
};

interface EventFrame {
  readonly id: string | null;
  readonly data: string | null;
}

/** Appends frames that arrived at `receivedAt`. A frame with only an id moves the resume position. */
export function appendFrames(log: EventLog, frames: readonly EventFrame[], receivedAt: number): EventLog {
  const come: LoggedEvent[] = [];
  let { received, lastId } = log;
  for (const { id, data } of frames) {
    if (id !== null && id !== "") lastId = id;
    if (data === null) continue;
    received += 1;
    const { at, ...read } = readEvent(data);
    come.push({ number: received, id: id === "" ? null : id, at: at ?? (id ? null : receivedAt), ...read });
  }
  const events = come.length === 0 ? log.events : [...log.events, ...come].slice(-MAX_EVENTS);
  return { events, received, lastId };
}

/** Empties the list and keeps the resume position. */
export function cleared(log: EventLog): EventLog {
  return { ...log, events: [] };
}

/** Returns one event per line, as the service sends them, to paste into a report or a test. */
export function eventLines(events: readonly LoggedEvent[]): string {
  return events
    .map(({ id, event }) => `${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`)
    .join("");
}

interface Timed {
  readonly created_at?: unknown;
}

function readEvent(data: string): Pick<LoggedEvent, "type" | "group" | "event" | "at"> {
  try {
    const event = JSON.parse(data) as { type?: unknown; message?: Timed; item?: Timed } | null;
    const type = typeof event?.type === "string" ? event.type : "without a type";
    return {
      type,
      group: Object.hasOwn(GROUPS, type) ? GROUPS[type as SessionUpdate["type"]] : "other",
      event,
      at: timeOf((type === "message_created" ? event?.message : event?.item)?.created_at),
    };
  } catch {
    return { type: "not JSON", group: "other", event: data, at: null };
  }
}

function timeOf(createdAt: unknown): number | null {
  const at = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
