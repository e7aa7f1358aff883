import { ColloquyError } from "@colloquy/client";
import { useColloquy, usePendingActions } from "@colloquy/react";
import { useState } from "react";
import { useSessionId } from "../chat/session-id.tsx";
import { useConnection } from "../connection/connection.tsx";
import { forgetResult, keepResult, keptResult, resultText, type WalletResult } from "./wallet-results.ts";

export interface WalletResults {
  /** What the wallet gave, and the service does not know; `null` for nothing. */
  readonly given: WalletResult | null;
  /**
   * Has `ask` get something from the wallet, once, and approves with it. Asked again, it only tells the service. Throws an Error with a
   * sentence for the person.
   */
  readonly approveBy: (ask: () => Promise<WalletResult>) => Promise<void>;
}

/** Nothing is left that could be told anything: decided otherwise, expired, or gone with its conversation. */
const OVER: ReadonlySet<number> = new Set([404, 409, 410]);

/** What a wallet gives for one action, on its way to the service. */
export function useWalletResults(actionId: string): WalletResults {
  const sessionId = useSessionId();
  const { approve } = usePendingActions(sessionId);
  const { session: sessionOf } = useColloquy();
  const { storage, outbox } = useConnection();
  const [given, setGiven] = useState(() => keptResult(storage, actionId));
  const forget = (): void => {
    forgetResult(storage, actionId);
    setGiven(null);
  };
  const get = async (ask: () => Promise<WalletResult>): Promise<WalletResult> => {
    const session = sessionOf(sessionId);
    // A wallet cannot take anything back, so the service is asked first whether it still wants this. A conversation that is deleted is
    // not: asking for it would make it anew.
    const isDeleted = session.getConnection().state === "deleted";
    const asked = isDeleted ? [] : (await session.refresh()).pending_actions;
    if (!asked.some(({ id }) => id === actionId))
      throw new Error(
        "This is not asked any more: it was decided elsewhere, or its time is over. The wallet was not asked.",
      );
    const result = await ask();
    keepResult(storage, actionId, result);
    setGiven(result);
    return result;
  };
  const approveBy = async (ask: () => Promise<WalletResult>): Promise<void> => {
    const result = given ?? keptResult(storage, actionId) ?? (await get(ask));
    try {
      await approve(actionId, result);
      forget();
    } catch (error) {
      const { status, message } =
        error instanceof ColloquyError ? error : { status: 0, message: "Try again." };
      const done = `The wallet has done it (${resultText(result)}), but the service did not take it.`;
      // Another answer of the wallet may be better.
      if (status === 400) forget();
      if (OVER.has(status)) {
        forget();
        // What asked for it goes away.
        outbox.tell(sessionId, { sentence: `${done} ${message}`, needsKey: false });
      }
      throw new Error(`${done} ${message}`, { cause: error });
    }
  };
  return { given, approveBy };
}
