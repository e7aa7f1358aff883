import type { Decision } from "@colloquy/client";
import { usePendingActions } from "@colloquy/react";
import { useState } from "react";
import { useSessionId } from "../chat/session-id.tsx";

export interface DecisionState {
  readonly isBusy: boolean;
  /** Why the last try came to nothing. */
  readonly failure: string | null;
  readonly deny: () => void;
  /** Approves with what `work` comes to. It may ask a wallet, and throws an Error with a sentence for the person. */
  readonly approveWith: (work: () => Promise<DecisionResult> | DecisionResult) => void;
}

/** What an approval comes with. */
export type DecisionResult = Extract<Decision, { decision: "approve" }>["result"];

/** One decision of an action, and how far it is. */
export function useDecision(actionId: string, onDecided: () => void): DecisionState {
  const { approve, deny } = usePendingActions(useSessionId());
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const decide = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
      onDecided();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "That did not work. Try again.");
    } finally {
      setBusy(false);
    }
  };
  return {
    isBusy,
    failure,
    deny: () => void decide(() => deny(actionId)),
    approveWith: (work) => void decide(async () => approve(actionId, await work())),
  };
}
