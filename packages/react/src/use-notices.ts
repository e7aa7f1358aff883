import type { NoticeLevel, Snapshot, SystemEvent } from "@colloquy/client";
import { useMemo } from "react";
import { useSessionPart } from "./use-session.ts";

/** Something that the service tells the person beside messages: an answer that has failed, a wallet that differs, and so on. */
export interface Notice {
  readonly id: string;
  readonly created_at: string;
  readonly level: NoticeLevel;
  /** docs/api.md, "Events", has them all. */
  readonly code: string;
  readonly message: string;
}

const NONE: Snapshot["system_events"] = [];

/** The last notices and failures of this conversation, oldest first. */
export function useNotices(id: string): readonly Notice[] {
  const events = useSessionPart(
    id,
    (pool, id) => pool.session(id).getSnapshot()?.system_events ?? NONE,
    NONE,
  );
  return useMemo(() => noticesOf(events), [events]);
}

/** Those of a snapshot's system events that are words for a person. */
export function noticesOf(events: readonly SystemEvent[]): readonly Notice[] {
  return events.flatMap(({ id, type, created_at, payload }) => {
    if (type !== "notice" && type !== "error") return [];
    const { level, code, message } = payload;
    if (!isLevel(level) || typeof code !== "string" || typeof message !== "string") return [];
    return [{ id, created_at, level, code, message }];
  });
}

function isLevel(value: unknown): value is NoticeLevel {
  return value === "info" || value === "warning" || value === "error";
}
