// What the stream of a session's events has brought, as a list that a developer reads. Pure.

import type { SessionUpdate } from "@colloquy/client";

/** What events are about, for who wants to see some of them; `other` are those of a service newer than this console. */
export const EVENT_GROUPS = ["messages", "tools", "state", "notices", "other"] as const;
export type EventGroup = (typeof EVENT_GROUPS)[number];

export interface LoggedEvent {
  /** Counts the frames of the log from 1. */
  readonly number: number;
  /** The event's own id, `null` for what has none: text as it streams, and notices of the stream itself. */
  readonly id: string | null;
  readonly type: string;
  readonly group: EventGroup;
  /** When it came here, milliseconds since 1970. */
  readonly receivedAt: number;
  /** The JSON as it came. */
  readonly event: unknown;
}

export interface EventLog {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /** Frames that have come, with those that are not kept any more. */
  readonly received: number;
  /** The last id that was seen, to go on from; `null` before any. */
  readonly lastId: string | null;
}

/** Events that are kept. */
export const LONGEST_LOG = 1_000;
export const EMPTY_LOG: EventLog = { events: [], received: 0, lastId: null };

const GROUPS: Readonly<Record<SessionUpdate["type"], EventGroup>> = {
  message_created: "messages",
  message_updated: "messages",
  message_completed: "messages",
  message_delta: "messages",
  tool_update: "tools",
  tool_complete: "tools",
  state_changed: "state",
  title_changed: "state",
  system_event: "notices",
  system_notice: "notices",
};

interface EventFrame {
  readonly id: string | null;
  readonly data: string | null;
}

/** The log after frames that have come at `receivedAt`; ids that come alone only say where the stream is. */
export function logged(log: EventLog, frames: readonly EventFrame[], receivedAt: number): EventLog {
  const come: LoggedEvent[] = [];
  let { received, lastId } = log;
  for (const { id, data } of frames) {
    if (id !== null && id !== "") lastId = id;
    if (data === null) continue;
    received += 1;
    come.push({ number: received, id: id === "" ? null : id, receivedAt, ...readEvent(data) });
  }
  const events = come.length === 0 ? log.events : [...log.events, ...come].slice(-LONGEST_LOG);
  return { events, received, lastId };
}

/** The log without what it shows; it goes on from where it is. */
export function cleared(log: EventLog): EventLog {
  return { ...log, events: [] };
}

/** One event a line, as the service sends them: what is pasted into a report or a test. */
export function eventLines(events: readonly LoggedEvent[]): string {
  return events
    .map(({ id, event }) => `${id === null ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`)
    .join("");
}

function readEvent(data: string): { type: string; group: EventGroup; event: unknown } {
  try {
    const event = JSON.parse(data) as { readonly type?: unknown } | null;
    const type = typeof event?.type === "string" ? event.type : "without a type";
    return {
      type,
      group: Object.hasOwn(GROUPS, type) ? GROUPS[type as SessionUpdate["type"]] : "other",
      event,
    };
  } catch {
    return { type: "not JSON", group: "other", event: data };
  }
}
