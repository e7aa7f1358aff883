import type { NoticeLevel, Snapshot, SystemEvent } from "@colloquy/client";
import { useMemo } from "react";
import { useSessionPart } from "./use-session.ts";

/** A notice of the service to the user, such as a failed answer or a differing wallet. */
export interface Notice {
  readonly id: string;
  readonly created_at: string;
  readonly level: NoticeLevel;
  /** See docs/api.md, "Events". */
  readonly code: string;
  readonly message: string;
  /** Number of the turn that failed: `turn` of its messages. Absent otherwise, and from an older service. */
  readonly turn?: number;
}

const NONE: Snapshot["system_events"] = [];

/** Returns the latest notices and failures of this session, oldest first. */
export function useNotices(id: string): readonly Notice[] {
  const events = useSessionPart(
    id,
    (pool, id) => pool.session(id).getSnapshot()?.system_events ?? NONE,
    NONE,
  );
  return useMemo(() => noticesOf(events), [events]);
}

/** Returns the system events that are meant for the user. */
export function noticesOf(events: readonly SystemEvent[]): readonly Notice[] {
  return events.flatMap(({ id, type, created_at, payload }) => {
    if (type !== "notice" && type !== "error") return [];
    const { level, code, message, turn } = payload;
    if (!isLevel(level) || typeof code !== "string" || typeof message !== "string") return [];
    return [{ id, created_at, level, code, message, ...(typeof turn === "number" && { turn }) }];
  });
}

function isLevel(value: unknown): value is NoticeLevel {
  return value === "info" || value === "warning" || value === "error";
}
