import { mayUserDecide, type PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { Approval, ApproverNotice } from "./approval.tsx";
import { ClientToolCall } from "./client-tool-call.tsx";
import { Question } from "./question.tsx";
import { SignatureRequest } from "./signature-request.tsx";
import { TransactionRequest } from "./transaction-request.tsx";
import { timeText } from "../design/time-text.ts";
import { useDecision } from "./use-decision.ts";

/** Shows a pending action. `onDecided` is called before the card disappears. */
export function ActionCard({
  action,
  onDecided,
}: {
  readonly action: PendingAction;
  readonly onDecided: () => void;
}): ReactNode {
  const decision = useDecision(action, onDecided);
  const until = timeText(new Date(action.expires_at), new Date());
  return (
    <section
      role="group"
      className="cq-action-card"
      aria-label={mayUserDecide(action) ? "The assistant asks" : "Waits for an approver"}
    >
      {action.kind === "approval" &&
        (mayUserDecide(action) ? (
          <Approval action={action} decision={decision} />
        ) : (
          <ApproverNotice action={action} />
        ))}
      {action.kind === "client_tool" && <ClientToolCall action={action} decision={decision} />}
      {action.kind === "question" && <Question action={action} decision={decision} />}
      {action.kind === "wallet_transaction" && <TransactionRequest action={action} decision={decision} />}
      {action.kind === "wallet_signature" && <SignatureRequest action={action} decision={decision} />}
      {decision.failure !== null && (
        <p className="cq-action-card-failure" role="alert">
          {decision.failure}
        </p>
      )}
      <p className="cq-action-card-until">
        {action.kind === "client_tool"
          ? `Without a result by ${until}, the call fails.`
          : `Without a decision by ${until}, this counts as denied.`}
      </p>
    </section>
  );
}
