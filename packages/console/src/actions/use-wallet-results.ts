import { ColloquyError, type PendingAction } from "@colloquy/client";
import { useColloquy, usePendingActions } from "@colloquy/react";
import { useSyncExternalStore } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { useConnection } from "../connection/connection.tsx";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import { resultText, type WalletResult } from "./wallet-results.ts";

/** A request to a wallet. */
export interface WalletAsking {
  readonly wallet: BrowserWallet;
  /** Throws an Error with a sentence for the person. */
  readonly ask: (wallet: BrowserWallet) => Promise<WalletResult>;
  /** The person knows that a wallet was asked for this before, and wants it asked once more. */
  readonly isAgain: boolean;
}

export interface WalletResults {
  /** What the wallet gave, and the service does not know; `null` for nothing. */
  readonly given: WalletResult | null;
  /** A wallet was asked for this transaction before, and may have sent it. */
  readonly wasAsked: boolean;
  /** What goes on with the wallet at the moment, whichever card began it; `null` for nothing. */
  readonly underWay: Promise<void> | null;
  /** Gets something from the wallet, unless it has given that already, and approves with it. Throws an Error with a sentence for the person. */
  readonly approveBy: (asking: WalletAsking) => Promise<void>;
  /** Approves with what the wallet gave. */
  readonly tellGiven: () => Promise<void>;
  /** Decides without the wallet: nothing is left then that it gave. */
  readonly settle: (decide: () => Promise<unknown>) => Promise<void>;
}

/** Nothing is left that could be told anything: decided otherwise, expired, or gone with its conversation. */
const OVER: ReadonlySet<number> = new Set([404, 409, 410]);

/** What a wallet gives for one action, on its way to the service. */
export function useWalletResults({ id, expires_at }: PendingAction): WalletResults {
  const sessionId = useSessionId();
  const { approve } = usePendingActions(sessionId);
  const { outbox, walletRequests: requests } = useConnection();
  useSyncExternalStore(requests.subscribe, requests.getSnapshot);
  const checkIsAsked = useIsAsked(sessionId, id);
  const get = async ({ wallet, ask, isAgain }: WalletAsking): Promise<WalletResult> => {
    await checkIsAsked();
    // Another tab may have asked by now.
    const given = requests.given(id);
    if (given !== null) return given;
    if (requests.wasAsked(id) && !isAgain)
      throw new Error("The wallet was asked for this already, in another tab. It was not asked again.");
    const result = await ask(requests.noting(wallet, { id, until: expires_at }));
    requests.keep(id, result);
    return result;
  };
  const tell = async (result: WalletResult): Promise<void> => {
    try {
      await approve(id, result);
      requests.forget(id);
    } catch (error) {
      const { status, message } =
        error instanceof ColloquyError ? error : { status: 0, message: "Try again." };
      const done = `The wallet has done it (${resultText(result)}), but the service did not take it.`;
      // Another signature may be better. A transaction is sent, whatever the service thinks of its hash.
      if (status === 400 && "signature" in result) requests.forget(id);
      if (OVER.has(status)) {
        requests.forget(id);
        // What asked for it goes away.
        outbox.tell(sessionId, { sentence: `${done} ${message}`, needsKey: false });
      }
      throw new Error(`${done} ${message}`, { cause: error });
    }
  };
  const settle = async (decide: () => Promise<unknown>): Promise<void> => {
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
    underWay: requests.underWay(id),
    approveBy: (asking) =>
      requests.join(id, async () =>
        tell(requests.given(id) ?? (await requests.alone(id, () => get(asking)))),
      ),
    tellGiven: () => requests.join(id, async () => (given === null ? undefined : tell(given))),
    settle,
  };
}

/** A wallet cannot take anything back, so the service is asked first whether it still wants this. Throws where it does not. */
function useIsAsked(sessionId: string, actionId: string): () => Promise<void> {
  const { session: sessionOf } = useColloquy();
  return async () => {
    const session = sessionOf(sessionId);
    // A conversation that is deleted wants nothing: asking for it would make it anew.
    const isDeleted = session.getConnection().state === "deleted";
    const asked = isDeleted ? [] : (await session.refresh()).pending_actions;
    if (!asked.some(({ id }) => id === actionId))
      throw new Error(
        "This is not asked any more: it was decided elsewhere, or its time is over. The wallet was not asked.",
      );
  };
}
