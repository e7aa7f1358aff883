import { wholeUnits, type PendingAction } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { browserWallet, sendTransaction } from "../wallet/browser-wallet.ts";
import { ReadThrough, useReading } from "./read-through.tsx";
import { visibleText } from "./approved-text.ts";
import { CallFacts } from "./call-facts.tsx";
import type { DecisionState } from "./use-decision.ts";
import { WalletDecision } from "./wallet-decision.tsx";

const HASH = "0x[0-9a-fA-F]{64}";

/**
 * Asks the user to send a transaction with the browser's wallet, or to send it elsewhere and report its hash.
 */
export function TransactionRequest({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "wallet_transaction" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const wallet = browserWallet();
  const { to, value, data, chain_id, currency, call = null } = action.request;
  const text = visibleText(data);
  const reading = useReading(text);
  return (
    <>
      <h2>Send this transaction?</h2>
      <dl className="cq-action-card-facts">
        <dt>To</dt>
        <dd>
          <code>{to}</code>
        </dd>
        <dt>Amount</dt>
        <dd>
          {currency === undefined ? (
            <>
              {value} <small>in the smallest unit of the chain’s currency</small>
            </>
          ) : (
            <>
              {wholeUnits(value, currency.decimals)} {currency.symbol}{" "}
              <small>({value} in the smallest unit)</small>
            </>
          )}
        </dd>
        <dt>Chain</dt>
        <dd>{chain_id}</dd>
      </dl>
      {data !== "0x" && (
        <>
          <CallFacts call={call} />
          <ReadThrough label="Data" text={text} reading={reading} />
        </>
      )}
      <WalletDecision
        wallet={wallet}
        doing="Send with the wallet"
        decision={decision}
        reading={data === "0x" ? null : reading}
        ask={async (asked, expected) => ({
          transaction_hash: await sendTransaction(asked, action.request, expected),
        })}
      />
      <ReportByHash isOpen={wallet === null || decision.wallet === "was_asked"} decision={decision} />
    </>
  );
}

function ReportByHash({
  isOpen,
  decision,
}: {
  readonly isOpen: boolean;
  readonly decision: DecisionState;
}): ReactNode {
  const [hash, setHash] = useState("");
  return (
    <details className="cq-action-card-elsewhere" open={isOpen}>
      <summary>I sent it from another wallet</summary>
      <form
        className="cq-action-card-answer"
        onSubmit={(event) => {
          event.preventDefault();
          decision.approveWith({ transaction_hash: hash.trim() });
        }}
      >
        <input
          aria-label="Hash of the transaction"
          placeholder="0x… (the hash of the transaction)"
          value={hash}
          pattern={`\\s*${HASH}\\s*`}
          title="0x and 64 hexadecimal digits"
          required
          onChange={(event) => setHash(event.target.value)}
        />
        <Button type="submit" disabled={decision.isBusy}>
          I have sent it
        </Button>
      </form>
    </details>
  );
}
