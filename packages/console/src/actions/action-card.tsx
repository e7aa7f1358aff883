import type { PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { Approval } from "./approval.tsx";
import { ClientToolCall } from "./client-tool-call.tsx";
import { Question } from "./question.tsx";
import { SignatureRequest } from "./signature-request.tsx";
import { TransactionRequest } from "./transaction-request.tsx";
import { expiryText } from "./expiry-text.ts";
import { useDecision } from "./use-decision.ts";
import styles from "./action-card.module.css";

/** Shows a pending action. `onDecided` is called before the card disappears. */
export function ActionCard({
  action,
  onDecided,
}: {
  readonly action: PendingAction;
  readonly onDecided: () => void;
}): ReactNode {
  const decision = useDecision(action, onDecided);
  const until = expiryText(new Date(action.expires_at), new Date());
  return (
    <section role="group" className={styles["card"]} aria-label="The assistant asks">
      {action.kind === "approval" && <Approval action={action} decision={decision} />}
      {action.kind === "client_tool" && <ClientToolCall action={action} decision={decision} />}
      {action.kind === "question" && <Question action={action} decision={decision} />}
      {action.kind === "wallet_transaction" && <TransactionRequest action={action} decision={decision} />}
      {action.kind === "wallet_signature" && <SignatureRequest action={action} decision={decision} />}
      {decision.failure !== null && (
        <p className={styles["failure"]} role="alert">
          {decision.failure}
        </p>
      )}
      <p className={styles["until"]}>
        {action.kind === "client_tool"
          ? `Without a result by ${until}, the call fails.`
          : `Without an answer by ${until}, this counts as denied.`}
      </p>
    </section>
  );
}
