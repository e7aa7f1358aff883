import type { Decision, PendingAction } from "@colloquy/client";
import { useMemo, useState, type ReactNode } from "react";
import {
  Approval,
  Button,
  Question,
  ReadThrough,
  approvedText,
  type DecisionState,
  useReading,
} from "@colloquy/ui/parts";
import { useAdministration } from "./administration.tsx";

/** An action that an operator may decide on behalf of the user. The audit trail names the operator. */
export function OperatorAction({
  sessionId,
  action,
  onDecided,
}: {
  readonly sessionId: string;
  readonly action: PendingAction;
  readonly onDecided: () => void;
}): ReactNode {
  const { client, explain } = useAdministration();
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const decide = async (decision: Decision): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await client.decideAction(sessionId, action.id, decision);
      onDecided();
    } catch (error) {
      setFailure(explain(error));
    } finally {
      setBusy(false);
    }
  };
  const decision = {
    isBusy,
    approveWith: (result) => void decide({ decision: "approve", result: result ?? null }),
    deny: () => void decide({ decision: "deny" }),
  } satisfies Partial<DecisionState>;
  return (
    <section role="group" className="cq-action-card" aria-label="Waits for a person">
      {action.kind === "approval" && <Approval action={action} decision={decision} />}
      {action.kind === "question" && <Question action={action} decision={decision} />}
      {(action.kind === "wallet_transaction" || action.kind === "wallet_signature") && (
        <WalletRequest action={action} decision={decision} />
      )}
      {failure !== null && (
        <p className="cq-action-card-failure" role="alert">
          {failure}
        </p>
      )}
    </section>
  );
}

/** Only the person's wallet can fulfil the request, so it can only be denied here. */
function WalletRequest({
  action: { tool, request },
  decision,
}: {
  readonly action: PendingAction;
  readonly decision: Pick<DecisionState, "isBusy" | "deny">;
}): ReactNode {
  const text = useMemo(() => approvedText(request), [request]);
  const reading = useReading(text);
  return (
    <>
      <h2>
        <code dir="ltr">{tool}</code> waits for the person’s wallet
      </h2>
      <ReadThrough label="The request" text={text} reading={reading} />
      <div className="cq-action-card-buttons">
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
