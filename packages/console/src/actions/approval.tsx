import type { PendingAction } from "@colloquy/client";
import { useMemo, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { approvedText } from "./approved-text.ts";
import { ReadThrough, useReading } from "./read-through.tsx";
import type { DecisionState } from "./use-decision.ts";
import styles from "./action-card.module.css";

/** Asks for permission to make exactly this tool call. */
export function Approval({
  action,
  decision,
}: {
  readonly action: Extract<PendingAction, { kind: "approval" }>;
  readonly decision: Pick<DecisionState, "isBusy" | "approveWith" | "deny">;
}): ReactNode {
  const { tool, input } = action.request;
  const text = useMemo(() => approvedText(input), [input]);
  const reading = useReading(text);
  return (
    <>
      <h2>
        Run <code dir="ltr">{tool}</code>?
      </h2>
      <ReadThrough label="With this input" text={text} reading={reading} />
      <div className={styles["buttons"]}>
        <Button
          look="primary"
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
