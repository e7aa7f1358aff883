import type { PendingAction } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { wholeUnits } from "../wallet/amount.ts";
import { browserWallet, sendTransaction } from "../wallet/browser-wallet.ts";
import type { DecisionState } from "./use-decision.ts";
import { WalletDecision } from "./wallet-decision.tsx";
import styles from "./action-card.module.css";

const HASH = "0x[0-9a-fA-F]{64}";

/** A transaction for the person's wallet: sent by it here, or elsewhere and told by its hash. */
export function TransactionRequest({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "wallet_transaction" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const wallet = browserWallet();
  const { to, value, data, chain_id } = action.request;
  return (
    <>
      <h2>Send this transaction?</h2>
      <dl className={styles["facts"]}>
        <dt>To</dt>
        <dd>
          <code>{to}</code>
        </dd>
        <dt>Amount</dt>
        <dd>
          {wholeUnits(value)} <small>in the chain’s currency ({value} wei)</small>
        </dd>
        <dt>Chain</dt>
        <dd>{chain_id}</dd>
        {data !== "0x" && (
          <>
            <dt>Data</dt>
            <dd>
              <code className={styles["data"]}>{data}</code>
            </dd>
          </>
        )}
      </dl>
      <WalletDecision
        wallet={wallet}
        doing="Send with the wallet"
        decision={decision}
        ask={async (asked, expected) => ({
          transaction_hash: await sendTransaction(asked, action.request, expected),
        })}
      />
      <SentElsewhere isOpen={wallet === null || decision.wallet === "was_asked"} decision={decision} />
    </>
  );
}

function SentElsewhere({
  isOpen,
  decision,
}: {
  readonly isOpen: boolean;
  readonly decision: DecisionState;
}): ReactNode {
  const [hash, setHash] = useState("");
  return (
    <details className={styles["elsewhere"]} open={isOpen}>
      <summary>Sent with a wallet elsewhere</summary>
      <form
        className={styles["answer"]}
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
          It is sent
        </Button>
      </form>
    </details>
  );
}
