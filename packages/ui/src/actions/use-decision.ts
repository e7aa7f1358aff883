import type { PendingAction } from "@colloquy/client";
import { usePendingActions, type PendingActions } from "@colloquy/react";
import { useEffect, useEffectEvent, useState } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { useWalletResults, type WalletAsking } from "./use-wallet-results.ts";
import type { WalletResult } from "./wallet-results.ts";

export interface DecisionState {
  readonly isBusy: boolean;
  /** Why the last attempt failed. */
  readonly failure: string | null;
  readonly deny: () => void;
  readonly approveWith: (result: DecisionResult) => void;
  /** Asks the wallet for a result and approves with it. */
  readonly approveByWallet: (asking: WalletAsking) => void;
  /** Approves with the result that the wallet has already returned. */
  readonly reportResult: () => void;
  /** The wallet's result that has not been reported to the service yet; `null` if there is none. */
  readonly given: WalletResult | null;
  /**
   * State of the wallet request: not made, pending in this page, or made earlier by a page that never saw the
   * result.
   */
  readonly wallet: "not_asked" | "in_flight" | "was_asked";
}

/** Result that accompanies an approval. */
type DecisionResult = Parameters<PendingActions["approve"]>[1];

/** Tracks one decision of an action. */
export function useDecision(action: PendingAction, onDecided: () => void): DecisionState {
  const { id } = action;
  const { approve, deny } = usePendingActions(useSessionId());
  const { given, wasAsked, inFlight, approveBy, reportResult, decideWithout } = useWalletResults(action);
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
  const joinInFlight = useEffectEvent(() => {
    if (inFlight !== null) void decide(() => inFlight);
  });
  // After a remount, join a request that was started before.
  useEffect(() => joinInFlight(), [id]);
  return {
    isBusy: isBusy || inFlight !== null,
    failure,
    deny: () => void decide(() => decideWithout(() => deny(id))),
    approveWith: (result) => void decide(() => decideWithout(() => approve(id, result))),
    approveByWallet: (asking) => void decide(() => approveBy(asking)),
    reportResult: () => void decide(reportResult),
    given,
    wallet: inFlight !== null ? "in_flight" : wasAsked ? "was_asked" : "not_asked",
  };
}
