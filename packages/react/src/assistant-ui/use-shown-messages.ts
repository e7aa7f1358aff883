import type { Snapshot } from "@colloquy/client";
import { useEffect, useMemo, useRef } from "react";
import type { Progress } from "../held-session.ts";
import { shownMessages, type ShownMessage } from "./shown-messages.ts";

const NONE: readonly ShownMessage[] = [];

/** The messages of a snapshot with what belongs to them; each is the same object until something of it changes. */
export function useShownMessages(snapshot: Snapshot | null, progress: Progress): readonly ShownMessage[] {
  const drawn = useRef(NONE);
  const shown = useMemo(() => {
    if (snapshot === null) return NONE;
    const { messages, system_events, pending_actions } = snapshot;
    return shownMessages(drawn.current, { messages, system_events, pending_actions, progress });
  }, [snapshot, progress]);
  // What was drawn at last, not what a rendering that was given up has made.
  useEffect(() => {
    drawn.current = shown;
  }, [shown]);
  return shown;
}
