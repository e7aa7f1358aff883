import type { PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button } from "../design/button.tsx";
import { JsonText } from "../design/json-text.tsx";
import { browserWallet, signTypedData } from "../wallet/browser-wallet.ts";
import { SigningAccount } from "./signing-account.tsx";
import type { DecisionState } from "./use-decision.ts";
import styles from "./action-card.module.css";

/** Typed data for the person's wallet to sign. */
export function SignatureRequest({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "wallet_signature" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const { wallet: expected } = useConnection();
  const wallet = browserWallet();
  const { typed_data } = action.request;
  return (
    <>
      <h2>Sign this with your wallet?</h2>
      <p>A signature can move money as a transaction can. Sign only what you understand.</p>
      <JsonText label="What is signed" text={JSON.stringify(typed_data)} />
      {wallet === null && <p>This browser has no wallet. Open this conversation where you have one.</p>}
      {wallet !== null && <SigningAccount address={expected} />}
      <div className={styles["buttons"]}>
        {wallet !== null && (
          <Button
            look="primary"
            disabled={decision.isBusy}
            onClick={() =>
              decision.approveWith(async () => ({
                signature: await signTypedData(wallet, typed_data, expected),
              }))
            }
          >
            Sign with the wallet
          </Button>
        )}
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
