import type { PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { JsonText } from "../design/json-text.tsx";
import { browserWallet, signTypedData } from "../wallet/browser-wallet.ts";
import type { DecisionState } from "./use-decision.ts";
import { WalletDecision } from "./wallet-decision.tsx";

/** Typed data for the person's wallet to sign. */
export function SignatureRequest({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "wallet_signature" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const wallet = browserWallet();
  const { typed_data } = action.request;
  return (
    <>
      <h2>Sign this with your wallet?</h2>
      <p>A signature can move money as a transaction can. Sign only what you understand.</p>
      <JsonText label="What is signed" text={JSON.stringify(typed_data)} />
      {wallet === null && decision.given === null && (
        <p>This browser has no wallet. Open this conversation where you have one.</p>
      )}
      <WalletDecision
        wallet={wallet}
        doing="Sign with the wallet"
        decision={decision}
        ask={async (asked, expected) => ({ signature: await signTypedData(asked, typed_data, expected) })}
      />
    </>
  );
}
