import type { PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { JsonText } from "../design/json-text.tsx";
import type { DecisionState } from "./use-decision.ts";
import styles from "./action-card.module.css";

/** May this call be made, exactly so? */
export function Approval({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "approval" }>;
  readonly decision: DecisionState;
}): ReactNode {
  const { tool, input } = action.request;
  return (
    <>
      <h2>
        Run <code dir="auto">{tool}</code>?
      </h2>
      <JsonText label="With this input" text={JSON.stringify(input)} />
      <div className={styles["buttons"]}>
        <Button look="primary" disabled={decision.isBusy} onClick={() => decision.approveWith(null)}>
          Approve
        </Button>
        <Button disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
