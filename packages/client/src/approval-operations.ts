import { nextCursor, type Abortable, type Transport } from "./transport.ts";
import type { ApproverAction } from "./wire.ts";

/** A page of pending actions for an approver, oldest first. */
export interface ApprovalPage {
  readonly actions: readonly ApproverAction[];
  /** Cursor of the next page; `null` on the last page. */
  readonly next: string | null;
}

interface ApprovalQuery extends Abortable {
  /** Maximum number of actions, up to 50; 20 by default. */
  readonly limit?: number | undefined;
  /** `next` of the previous page; absent for the first page. */
  readonly cursor?: string | undefined;
}

interface Judgement {
  readonly decision: "approve" | "deny";
  /** Shown to the user of the conversation. The model also receives the comment on a denial. */
  readonly comment?: string | undefined;
}

export type ApprovalOperations = ReturnType<typeof approvalOperations>;

/** Operations for approvers, who cannot open the conversations of the actions. They require a user token. */
export function approvalOperations(transport: Transport, app: string | undefined) {
  return {
    /**
     * Lists the pending actions that the signed-in approver may decide. Rejects with 403 if the user is not
     * an approver.
     */
    async listApprovals({ limit, cursor, signal }: ApprovalQuery = {}): Promise<ApprovalPage> {
      const query = { status: "pending", app, limit, cursor };
      const request = { path: "/api/actions", query, field: "length", repeatable: true, signal };
      const answer = await transport.required<readonly ApproverAction[]>(request);
      return { actions: answer.body, next: nextCursor(answer) };
    },

    /**
     * Decides an action as an approver. Repeating a decision returns the same result. Rejects with 409 if the
     * action has a different decision.
     */
    decideApproval(
      actionId: string,
      judgement: Judgement,
      { signal }: Abortable = {},
    ): Promise<ApproverAction> {
      return transport.body({
        method: "POST",
        path: `/api/actions/${encodeURIComponent(actionId)}`,
        body: judgement,
        repeatable: true,
        signal,
      });
    },
  };
}
