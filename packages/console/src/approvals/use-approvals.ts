import { ColloquyError, type ApprovalPage, type ApproverAction, type Client } from "@colloquy/client";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useConnection } from "../connection/connection.tsx";

const POLL_MS = 15_000;
const PAGE = 50;

type Judgement = Parameters<Client["decideApproval"]>[1];

export interface Approvals {
  /** The first page of pending actions, oldest first. */
  readonly actions: readonly ApproverAction[];
  /** True if there are more pages. */
  readonly hasMore: boolean;
  /** Decides an action and reloads the list. */
  readonly decide: (id: string, judgement: Judgement) => Promise<void>;
}

/** Returns the pending actions of the signed-in approver in the page's App; `null` if the user is not an approver. */
export function useApprovals(): Approvals | null {
  const { client, page: settings, userState } = useConnection();
  // The route rejects users of an App without approvers.
  const mayApprove = userState.signedIn !== null && settings?.has_approvers === true;
  // The next client may act for another user, who must not see this page.
  const [read, setRead] = useState<{ readonly client: Client; readonly page: ApprovalPage } | null>(null);
  const page = read?.client === client ? read.page : null;
  const [reads, setReads] = useState(0);
  useEffect(() => {
    if (!mayApprove) return;
    const abort = new AbortController();
    let timer: number | undefined;
    const poll = async (): Promise<void> => {
      try {
        setRead({ client, page: await client.listApprovals({ limit: PAGE, signal: abort.signal }) });
      } catch (error) {
        if (abort.signal.aborted) return;
        if (error instanceof ColloquyError && error.status === 403) {
          // The token does not make its user an approver. Try again after the next sign-in.
          setRead(null);
          return;
        }
      }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void poll(), POLL_MS);
    };
    void poll();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [client, mayApprove, reads]);
  const decide = useCallback(
    async (id: string, judgement: Judgement): Promise<void> => {
      try {
        await client.decideApproval(id, judgement);
      } finally {
        setReads((before) => before + 1);
      }
    },
    [client],
  );
  return useMemo(
    () =>
      mayApprove && page !== null ? { actions: page.actions, hasMore: page.next !== null, decide } : null,
    [mayApprove, page, decide],
  );
}
