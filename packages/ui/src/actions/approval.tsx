import type { PendingAction } from "@colloquy/client";
import { useMemo, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { approvedText } from "./approved-text.ts";
import { type Reading, ReadThrough, useReading } from "./read-through.tsx";
import type { DecisionState } from "./use-decision.ts";

type ApprovalAction = Extract<PendingAction, { kind: "approval" }>;

/** Returns the input of the call as text, and how much of it the user has read. */
function useInput({ request: { input } }: ApprovalAction): {
  readonly text: string;
  readonly reading: Reading;
} {
  const text = useMemo(() => approvedText(input), [input]);
  return { text, reading: useReading(text) };
}

/** Shows a call that only approvers may decide. */
export function ApproverNotice({ action }: { readonly action: ApprovalAction }): ReactNode {
  const { text, reading } = useInput(action);
  return (
    <>
      <h2>
        <code dir="ltr">{action.request.tool}</code> waits for an approver
      </h2>
      <ReadThrough label="With this input" text={text} reading={reading} />
    </>
  );
}

/** Asks the user to approve exactly this tool call. */
export function Approval({
  action,
  decision,
}: {
  readonly action: ApprovalAction;
  readonly decision: Pick<DecisionState, "isBusy" | "approveWith" | "deny">;
}): ReactNode {
  const { text, reading } = useInput(action);
  return (
    <>
      <h2>
        Run <code dir="ltr">{action.request.tool}</code>?
      </h2>
      <ReadThrough label="With this input" text={text} reading={reading} />
      <div className="cq-action-card-buttons">
        <Button
          look="primary"
          data-shortcut="decide"
          disabled={decision.isBusy || !reading.isDone}
          aria-describedby={reading.hintId}
          onClick={() => decision.approveWith(null)}
        >
          Approve
        </Button>
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
