import type { Reasoning } from "@colloquy/client";
import { useCallback, useState } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";

export interface ReasoningView {
  /** The model's reasoning, oldest step first; `null` before it was loaded. */
  readonly reasoning: readonly Reasoning[] | null;
  /** The error of the last load. */
  readonly error: unknown;
  /** Loads the reasoning. Call it again while the answer streams, which may add steps. */
  readonly load: () => Promise<void>;
}

const NOT_LOADED = { reasoning: null, error: null };

/** Returns the model's reasoning for a message with `has_reasoning`. Loads nothing before `load` is called. */
export function useReasoning(sessionId: string, messageId: string): ReasoningView {
  const { pool } = useColloquyContext();
  const [view, setView] = useState<Omit<ReasoningView, "load">>(NOT_LOADED);
  const load = useCallback(async (): Promise<void> => {
    try {
      setView({ reasoning: await pool.session(sessionId).reasoning(messageId), error: null });
    } catch (error) {
      setView({ reasoning: null, error });
    }
  }, [pool, sessionId, messageId]);
  return { ...view, load };
}
