import type { LiveReasoning, Snapshot } from "@colloquy/client";
import { useEffect, useMemo, useRef } from "react";
import type { Progress } from "../shared-session.ts";
import { displayMessages, type DisplayMessage } from "./display-messages.ts";

const NONE: readonly DisplayMessage[] = [];

/** Returns the messages of a snapshot with their details; each is the same object until it changes. */
export function useDisplayMessages(
  snapshot: Snapshot | null,
  progress: Progress,
  reasoning: LiveReasoning | null,
): readonly DisplayMessage[] {
  const drawn = useRef(NONE);
  const shown = useMemo(() => {
    if (snapshot === null) return NONE;
    const { messages, system_events, pending_actions } = snapshot;
    const shown = { messages, system_events, pending_actions, progress, reasoning };
    return displayMessages(drawn.current, shown);
  }, [snapshot, progress, reasoning]);
  // Store the result in an effect, so that abandoned renders have no influence.
  useEffect(() => {
    drawn.current = shown;
  }, [shown]);
  return shown;
}
