import type { Decision } from "@colloquy/client";
import { usePendingActions } from "@colloquy/react";
import { useState } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { useWalletResults } from "./use-wallet-results.ts";
import type { WalletResult } from "./wallet-results.ts";

export interface DecisionState {
  readonly isBusy: boolean;
  /** Why the last try came to nothing. */
  readonly failure: string | null;
  readonly deny: () => void;
  readonly approveWith: (result: DecisionResult) => void;
  /** Approves with what `ask` gets from a wallet, or with what it got before. It throws an Error with a sentence for the person. */
  readonly approveByWallet: (ask: () => Promise<WalletResult>) => void;
  /** What the wallet has done already, and the service does not know; `null` for nothing. */
  readonly given: WalletResult | null;
}

/** What an approval comes with. */
type DecisionResult = Extract<Decision, { decision: "approve" }>["result"];

/** One decision of an action, and how far it is. */
export function useDecision(actionId: string, onDecided: () => void): DecisionState {
  const { approve, deny } = usePendingActions(useSessionId());
  const { given, approveBy } = useWalletResults(actionId);
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
    approveWith: (result) => void decide(() => approve(actionId, result)),
    approveByWallet: (ask) => void decide(() => approveBy(ask)),
    given,
  };
}
