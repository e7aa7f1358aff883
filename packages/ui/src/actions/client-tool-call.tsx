import type { ClientToolAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { Button } from "../design/button.tsx";
import type { DecisionState } from "./use-decision.ts";

/**
 * Shows a call of a client tool, which a page of the App runs. The user can deny it until a page has claimed
 * it.
 */
export function ClientToolCall({
  action,
  decision,
}: {
  readonly action: ClientToolAction;
  readonly decision: DecisionState;
}): ReactNode {
  const name = <code dir="ltr">{action.request.tool}</code>;
  if (action.claim_expires_at !== null) return <h2>A page is running {name}.</h2>;
  return (
    <>
      <h2>Waiting for a page that runs {name}</h2>
      <p>This tool runs in the App’s own page. Open the conversation there, or deny the call.</p>
      <div className="cq-action-card-buttons">
        <Button data-shortcut="decide" disabled={decision.isBusy} onClick={decision.deny}>
          Deny
        </Button>
      </div>
    </>
  );
}
