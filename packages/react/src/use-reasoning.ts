import type { LiveReasoning, Reasoning } from "@colloquy/client";
import { useCallback, useState } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { useSessionPart } from "./use-session.ts";

export interface ReasoningView {
  /**
   * The model's reasoning, oldest step first; `null` before it was loaded. Streams while the answer is in progress if the
   * client has the option `reasoning`.
   */
  readonly reasoning: readonly Reasoning[] | null;
  /** The error of the last load. */
  readonly error: unknown;
  /** Loads the reasoning. Call it again while the answer streams, which may add steps. */
  readonly load: () => Promise<void>;
}

const NOTHING = { of: null, reasoning: null, error: null };

/**
 * Returns the reasoning of an answer in progress; `null` for none, once the answer is complete, and without the client's
 * option `reasoning`. Without `messageId`, returns that of any answer: snapshots show it only once it has text or calls.
 */
export function useLiveReasoning(sessionId: string, messageId: string | null = null): LiveReasoning | null {
  return useSessionPart(
    sessionId,
    (pool, id) => {
      const live = pool.session(id).getReasoning();
      return messageId === null || live?.messageId === messageId ? live : null;
    },
    null,
  );
}

/** Returns the model's reasoning for a message with `has_reasoning`. Loads nothing before `load` is called. */
export function useReasoning(sessionId: string, messageId: string): ReasoningView {
  const { pool } = useColloquyContext();
  const [loaded, setLoaded] = useState<Omit<ReasoningView, "load"> & { readonly of: string | null }>(NOTHING);
  const answer = `${sessionId} ${messageId}`;
  const load = useCallback(async (): Promise<void> => {
    try {
      const reasoning = await pool.session(sessionId).reasoning(messageId);
      setLoaded({ of: answer, reasoning, error: null });
    } catch (error) {
      setLoaded({ of: answer, reasoning: null, error });
    }
  }, [pool, sessionId, messageId, answer]);
  const live = useLiveReasoning(sessionId, messageId);
  const { reasoning, error } = loaded.of === answer ? loaded : NOTHING;
  return { reasoning: live?.steps ?? reasoning, error, load };
}
