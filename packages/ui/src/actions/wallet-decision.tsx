import type { ReactNode } from "react";
import { useColloquy } from "@colloquy/react";
import { Button } from "../design/button.tsx";
import type { BrowserWallet } from "../wallet/browser-wallet.ts";
import type { Reading } from "./read-through.tsx";
import { SigningAccount } from "./signing-account.tsx";
import type { DecisionState } from "./use-decision.ts";
import { resultText, type WalletResult } from "./wallet-results.ts";

/** Buttons for a wallet request: use the browser's wallet, if there is one, or deny. */
export function WalletDecision({
  wallet,
  doing,
  decision,
  reading,
  ask,
}: {
  /** `null` if the browser has none. */
  readonly wallet: BrowserWallet | null;
  /** Label of the button that asks the wallet. */
  readonly doing: string;
  readonly decision: DecisionState;
  /** Reading state of the request's text; `null` if there is no long text. */
  readonly reading: Reading | null;
  /** `expected` is the account that the page is connected to, `null` for the wallet's current one. */
  readonly ask: (wallet: BrowserWallet, expected: string | null) => Promise<WalletResult>;
}): ReactNode {
  const { publicKey: expected } = useColloquy();
  if (decision.given !== null) return <Given given={decision.given} decision={decision} />;
  const isAgain = decision.wallet === "was_asked";
  return (
    <>
      {wallet !== null && <SigningAccount address={expected} />}
      {decision.wallet === "in_flight" && <p>Waiting for the wallet. Look at its window.</p>}
      {isAgain && (
        <p>
          The wallet has already received this request and may have sent the transaction. Check there first: a
          transaction sent twice is paid twice. If it was sent, enter its hash.
        </p>
      )}
      <div className="cq-action-card-buttons">
        {wallet !== null && (
          <Button
            look={isAgain ? "plain" : "primary"}
            data-shortcut="decide"
            disabled={decision.isBusy || reading?.isDone === false}
            aria-describedby={reading?.hintId}
            onClick={() =>
              decision.approveByWallet({ wallet, ask: (recording) => ask(recording, expected), isAgain })
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

/** Shown once the wallet has returned a result. A sent transaction can no longer be denied. */
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
        The wallet has done this and will not be asked again: <code>{resultText(given)}</code>. The service
        does not know it yet.{isSent && " A sent transaction cannot be denied."}
      </p>
      <div className="cq-action-card-buttons">
        <Button
          look="primary"
          data-shortcut="decide"
          disabled={decision.isBusy}
          onClick={decision.reportResult}
        >
          Report to the service
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
