import { ColloquyError, type ApprovalPage, type ApproverAction, type Client } from "@colloquy/client";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";

const POLL_MS = 15_000;
const PAGE = 50;

export interface Approvals {
  /**
   * Pending actions that the signed-in approver may decide, oldest first, at most 50. `null` before the first
   * response, and if the user is not an approver.
   */
  readonly actions: readonly ApproverAction[] | null;
  /** True if there are more. They follow as these are decided. */
  readonly hasMore: boolean;
  /** Error of the last request; `null` if it succeeded. Status 403: the user is not an approver. */
  readonly error: ColloquyError | null;
  /** Approves an action, and reloads the list. The user of the conversation sees the comment. */
  readonly approve: (actionId: string, comment?: string) => Promise<ApproverAction>;
  /** Denies an action, and reloads the list. The model and the user see the comment. */
  readonly deny: (actionId: string, comment?: string) => Promise<ApproverAction>;
}

interface Read {
  /** The next client may act for another user, who must not see these actions. */
  readonly client: Client | null;
  readonly page: ApprovalPage | null;
  readonly error: ColloquyError | null;
}

const NOTHING: Read = { client: null, page: null, error: null };

/**
 * Returns the actions of other users that wait for the signed-in approver, and functions to decide them. Reads them
 * every 15 seconds. Sends no requests unless `isApprover`.
 */
export function useApprovals(isApprover = true): Approvals {
  const { client } = useColloquyContext();
  const [last, setLast] = useState(NOTHING);
  const [decisions, setDecisions] = useState(0);
  useEffect(() => {
    if (!isApprover) return undefined;
    const abort = new AbortController();
    const { signal } = abort;
    let isReading = false;
    const read = async (): Promise<void> => {
      if (isReading) return;
      isReading = true;
      try {
        setLast({ client, page: await client.listApprovals({ limit: PAGE, signal }), error: null });
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ColloquyError)) throw error;
        const isRefused = error.status === 403;
        setLast((before) => ({ client, page: isRefused ? null : pageOf(before, client), error }));
        // The token does not make its user an approver. Reads again with the next client.
        if (isRefused) clearInterval(timer);
      } finally {
        isReading = false;
      }
    };
    const timer = setInterval(() => void read(), POLL_MS);
    void read();
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [client, isApprover, decisions]);
  const decide = useCallback(
    async (decision: "approve" | "deny", actionId: string, comment: string | undefined) => {
      try {
        return await client.decideApproval(actionId, { decision, ...(comment !== undefined && { comment }) });
      } finally {
        setDecisions((before) => before + 1);
      }
    },
    [client],
  );
  const page = isApprover ? pageOf(last, client) : null;
  const error = isApprover && last.client === client ? last.error : null;
  return useMemo(
    () => ({
      actions: page?.actions ?? null,
      hasMore: page !== null && page.next !== null,
      error,
      approve: (actionId, comment) => decide("approve", actionId, comment),
      deny: (actionId, comment) => decide("deny", actionId, comment),
    }),
    [page, error, decide],
  );
}

function pageOf(read: Read, client: Client): ApprovalPage | null {
  return read.client === client ? read.page : null;
}
