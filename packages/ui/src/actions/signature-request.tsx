import type { PendingAction } from "@colloquy/client";
import { useMemo, type ReactNode } from "react";
import { browserWallet, signTypedData } from "../wallet/browser-wallet.ts";
import { approvedText } from "./approved-text.ts";
import { ReadThrough, useReading } from "./read-through.tsx";
import type { DecisionState } from "./use-decision.ts";
import { WalletDecision } from "./wallet-decision.tsx";

/** Asks the user to sign typed data with the wallet. */
export function SignatureRequest({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "wallet_signature" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const wallet = browserWallet();
  const { typed_data } = action.request;
  const text = useMemo(() => approvedText(typed_data), [typed_data]);
  const reading = useReading(text);
  return (
    <>
      <h2>Sign this with your wallet?</h2>
      <p>A signature can move money as a transaction can. Sign only what you understand.</p>
      <ReadThrough label="Data to sign" text={text} reading={reading} />
      {wallet === null && decision.given === null && (
        <p>This browser has no wallet. Open this conversation where you have one.</p>
      )}
      <WalletDecision
        wallet={wallet}
        doing="Sign with the wallet"
        decision={decision}
        reading={reading}
        ask={async (asked, expected) => ({ signature: await signTypedData(asked, typed_data, expected) })}
      />
    </>
  );
}
