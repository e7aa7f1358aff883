import type { Decision, PendingAction } from "@colloquy/client";
import { usePendingActions } from "@colloquy/react";
import { useEffect, useEffectEvent, useState } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { useWalletResults, type WalletAsking } from "./use-wallet-results.ts";
import type { WalletResult } from "./wallet-results.ts";

export interface DecisionState {
  readonly isBusy: boolean;
  /** Why the last try came to nothing. */
  readonly failure: string | null;
  readonly deny: () => void;
  readonly approveWith: (result: DecisionResult) => void;
  /** Approves with what a wallet gives. */
  readonly approveByWallet: (asking: WalletAsking) => void;
  /** Approves with what the wallet has given. */
  readonly tellGiven: () => void;
  /** What the wallet has done already, and the service does not know; `null` for nothing. */
  readonly given: WalletResult | null;
  /** Where the wallet is: not asked, asked by this page just now, or asked before by a page that did not hear what it did. */
  readonly wallet: "not_asked" | "under_way" | "was_asked";
}

/** What an approval comes with. */
type DecisionResult = Extract<Decision, { decision: "approve" }>["result"];

/** One decision of an action, and how far it is. */
export function useDecision(action: PendingAction, onDecided: () => void): DecisionState {
  const { id } = action;
  const { approve, deny } = usePendingActions(useSessionId());
  const { given, wasAsked, underWay, approveBy, tellGiven, settle } = useWalletResults(action);
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
  const joinUnderWay = useEffectEvent(() => {
    if (underWay !== null) void decide(() => underWay);
  });
  // The card was away meanwhile: what it has begun goes on.
  useEffect(() => joinUnderWay(), [id]);
  return {
    isBusy: isBusy || underWay !== null,
    failure,
    deny: () => void decide(() => settle(() => deny(id))),
    approveWith: (result) => void decide(() => settle(() => approve(id, result))),
    approveByWallet: (asking) => void decide(() => approveBy(asking)),
    tellGiven: () => void decide(tellGiven),
    given,
    wallet: underWay !== null ? "under_way" : wasAsked ? "was_asked" : "not_asked",
  };
}
