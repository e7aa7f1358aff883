import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button } from "../design/button.tsx";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import type { Reading } from "./read-through.tsx";
import { SigningAccount } from "./signing-account.tsx";
import type { DecisionState } from "./use-decision.ts";
import { resultText, type WalletResult } from "./wallet-results.ts";
import styles from "./action-card.module.css";

/** What a person can do with a request to the wallet: have the wallet of the browser do it, where there is one, or deny. */
export function WalletDecision({
  wallet,
  doing,
  decision,
  reading,
  ask,
}: {
  /** `null` where the browser has none. */
  readonly wallet: BrowserWallet | null;
  /** What the wallet is told to do, as the words of a button. */
  readonly doing: string;
  readonly decision: DecisionState;
  /** Of what the wallet is asked; `null` where there is nothing to scroll through. */
  readonly reading: Reading | null;
  /** `expected` is the account that the page is connected to, `null` for whichever the wallet has. */
  readonly ask: (wallet: BrowserWallet, expected: string | null) => Promise<WalletResult>;
}): ReactNode {
  const { wallet: expected } = useConnection();
  if (decision.given !== null) return <Given given={decision.given} decision={decision} />;
  const isAgain = decision.wallet === "was_asked";
  return (
    <>
      {wallet !== null && <SigningAccount address={expected} />}
      {decision.wallet === "under_way" && <p>The wallet is being asked. Look into its window.</p>}
      {isAgain && (
        <p>
          The wallet was asked for this already, and may have sent it. Look there first: what is sent twice is
          paid twice. If it was sent, enter its hash.
        </p>
      )}
      <div className={styles["buttons"]}>
        {wallet !== null && (
          <Button
            look={isAgain ? "plain" : "primary"}
            disabled={decision.isBusy || reading?.isDone === false}
            aria-describedby={reading?.hintId}
            onClick={() =>
              decision.approveByWallet({ wallet, ask: (noting) => ask(noting, expected), isAgain })
            }
          >
            {isAgain ? "Ask the wallet again" : doing}
          </Button>
        )}
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          {isAgain ? "It was not sent: deny" : "Deny"}
        </Button>
      </div>
    </>
  );
}

/** The wallet has done it. No wallet is needed any more, and of a transaction nobody is to be told that it was denied. */
function Given({
  given,
  decision,
}: {
  readonly given: WalletResult;
  readonly decision: DecisionState;
}): ReactNode {
  const isSent = "transaction_hash" in given;
  return (
    <>
      <p>
        The wallet has done this, and is not asked again: <code>{resultText(given)}</code>. The service does
        not know of it yet.{isSent && " What is sent cannot be denied any more."}
      </p>
      <div className={styles["buttons"]}>
        <Button look="primary" disabled={decision.isBusy} onClick={decision.tellGiven}>
          Tell the service
        </Button>
        {!isSent && (
          <Button disabled={decision.isBusy} onClick={decision.deny}>
            Deny
          </Button>
        )}
      </div>
    </>
  );
}
