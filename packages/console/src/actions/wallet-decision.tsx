import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button } from "../design/button.tsx";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import { SigningAccount } from "./signing-account.tsx";
import type { DecisionState } from "./use-decision.ts";
import { resultText, type WalletResult } from "./wallet-results.ts";
import styles from "./action-card.module.css";

/** What a person can do with a request to the wallet: have the wallet of the browser do it, where there is one, or deny. */
export function WalletDecision({
  wallet,
  doing,
  decision,
  ask,
}: {
  /** `null` where the browser has none. */
  readonly wallet: BrowserWallet | null;
  /** What the wallet is told to do, as the words of a button. */
  readonly doing: string;
  readonly decision: DecisionState;
  /** `expected` is the account that the page is connected to, `null` for whichever the wallet has. */
  readonly ask: (wallet: BrowserWallet, expected: string | null) => Promise<WalletResult>;
}): ReactNode {
  const { wallet: expected } = useConnection();
  return (
    <>
      {wallet !== null && decision.given === null && <SigningAccount address={expected} />}
      {decision.given !== null && (
        <p>
          The wallet has done this, and is not asked again: <code>{resultText(decision.given)}</code>. The
          service does not know of it yet.
        </p>
      )}
      <div className={styles["buttons"]}>
        {wallet !== null && (
          <Button
            look="primary"
            disabled={decision.isBusy}
            onClick={() => decision.approveByWallet(() => ask(wallet, expected))}
          >
            {decision.given === null ? doing : "Tell the service"}
          </Button>
        )}
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
