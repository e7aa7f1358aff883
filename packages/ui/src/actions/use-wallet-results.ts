import { ColloquyError, type PendingAction } from "@colloquy/client";
import { useColloquy, usePendingActions } from "@colloquy/react";
import { useSyncExternalStore } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { usePage } from "../chat/page-context.tsx";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import { resultText, type WalletResult } from "./wallet-results.ts";

/** A request to a wallet. */
export interface WalletAsking {
  readonly wallet: BrowserWallet;
  /** Throws an `Error` with a user-facing message. */
  readonly ask: (wallet: BrowserWallet) => Promise<WalletResult>;
  /** True if the user knows that a wallet was already asked, and wants to ask again. */
  readonly isAgain: boolean;
}

export interface WalletResults {
  /** The wallet's result that has not been reported to the service yet; `null` if there is none. */
  readonly given: WalletResult | null;
  /** True if a wallet was already asked for this transaction and may have sent it. */
  readonly wasAsked: boolean;
  /** The pending wallet request, which another card may have started; `null` if there is none. */
  readonly inFlight: Promise<void> | null;
  /**
   * Approves with the wallet's result, requesting it if necessary. Throws an `Error` with a user-facing
   * message.
   */
  readonly approveBy: (asking: WalletAsking) => Promise<void>;
  /** Approves with the result that the wallet has already returned. */
  readonly reportResult: () => Promise<void>;
  /** Decides without the wallet, then removes its stored result. */
  readonly decideWithout: (decide: () => Promise<unknown>) => Promise<void>;
}

/** Statuses after which the service cannot accept a result: decided otherwise, expired, or deleted. */
const OVER: ReadonlySet<number> = new Set([404, 409, 410]);

/** Manages the wallet's result for one action until it is reported to the service. */
export function useWalletResults({ id, expires_at }: PendingAction): WalletResults {
  const sessionId = useSessionId();
  const { approve } = usePendingActions(sessionId);
  const { outbox, walletRequests: requests } = usePage();
  useSyncExternalStore(requests.subscribe, requests.getSnapshot);
  const checkIsAsked = useIsAsked(sessionId, id);
  const get = async ({ wallet, ask, isAgain }: WalletAsking): Promise<WalletResult> => {
    await checkIsAsked();
    // Another tab may have sent this request to the wallet during the check.
    const given = requests.given(id);
    if (given !== null) return given;
    if (requests.wasAsked(id) && !isAgain)
      throw new Error("Another tab has already sent this request to the wallet. It was not sent again.");
    const result = await ask(requests.recording(wallet, { id, until: expires_at }));
    requests.keep(id, result);
    return result;
  };
  const report = async (result: WalletResult): Promise<void> => {
    try {
      await approve(id, result);
      requests.forget(id);
    } catch (error) {
      const { status, message } =
        error instanceof ColloquyError ? error : { status: 0, message: "Try again." };
      const done = `The wallet has done it (${resultText(result)}), but the service did not accept it.`;
      // The user may sign again. A transaction is sent even if the service rejects its hash.
      if (status === 400 && "signature" in result) requests.forget(id);
      if (OVER.has(status)) {
        requests.forget(id);
        // The card disappears, so report through the outbox.
        outbox.report(sessionId, { sentence: `${done} ${message}`, needsKey: false });
      }
      throw new Error(`${done} ${message}`, { cause: error });
    }
  };
  const decideWithout = async (decide: () => Promise<unknown>): Promise<void> => {
    try {
      await decide();
    } catch (error) {
      if (error instanceof ColloquyError && OVER.has(error.status)) requests.forget(id);
      throw error;
    }
    requests.forget(id);
  };
  const given = requests.given(id);
  return {
    given,
    wasAsked: requests.wasAsked(id),
    inFlight: requests.inFlight(id),
    approveBy: (asking) =>
      requests.join(id, async () =>
        report(requests.given(id) ?? (await requests.alone(id, () => get(asking)))),
      ),
    reportResult: () => requests.join(id, async () => (given === null ? undefined : report(given))),
    decideWithout,
  };
}

/**
 * Checks that the action is still pending, because a wallet's result cannot be undone. Throws if it is not.
 */
function useIsAsked(sessionId: string, actionId: string): () => Promise<void> {
  const { session: sessionOf } = useColloquy();
  return async () => {
    const session = sessionOf(sessionId);
    // Do not read a deleted session: that would create it again.
    const isDeleted = session.getConnection().state === "deleted";
    const asked = isDeleted ? [] : (await session.refresh()).pending_actions;
    if (!asked.some(({ id }) => id === actionId))
      throw new Error(
        "This request is no longer pending: it was decided elsewhere or has expired. The wallet was not asked.",
      );
  };
}
