import type { ApproverAction } from "@colloquy/client";
import type { Approvals } from "@colloquy/react";
import { approvedText, Button, ReadThrough, TopBar, useDocumentTitle, useReading } from "@colloquy/ui/parts";
import { useId, useMemo, useState, type ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import styles from "./approvals.module.css";

/** Lists the pending actions of the signed-in approver. */
export function ApprovalsPage({
  approvals,
  menu,
}: {
  readonly approvals: Approvals;
  readonly menu: ReactNode;
}): ReactNode {
  useDocumentTitle("Approvals");
  const { actions } = approvals;
  return (
    <>
      <TopBar menu={menu} title="Approvals" />
      <div className={styles["page"]} tabIndex={0} role="region" aria-label="Approvals">
        <div className={styles["content"]}>
          {actions === null ? (
            <p>You are not signed in as an approver.</p>
          ) : actions.length === 0 ? (
            <p>Nothing waits for your approval.</p>
          ) : (
            actions.map((action) => <ApprovalCard key={action.id} action={action} {...approvals} />)
          )}
          {approvals.hasMore && <p>More requests wait. They appear as you decide these.</p>}
        </div>
      </div>
    </>
  );
}

function ApprovalCard({
  action: { id, app, tool, title, input, created_at, expires_at },
  approve,
  deny,
}: Pick<Approvals, "approve" | "deny"> & { readonly action: ApproverAction }): ReactNode {
  const text = useMemo(() => approvedText(input), [input]);
  const reading = useReading(text);
  const heading = useId();
  const [comment, setComment] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const send = async (decide: Approvals["approve"]): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await decide(id, comment.trim() === "" ? undefined : comment);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "That did not work. Try again.");
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="cq-action-card" aria-labelledby={heading}>
      <h2 id={heading}>{title ?? <code dir="ltr">{tool}</code>}</h2>
      <p className={styles["facts"]}>
        <code dir="ltr">{tool}</code> in <bdi>{app}</bdi>, requested <Moment at={created_at} />
      </p>
      <ReadThrough label="With this input" text={text} reading={reading} />
      <label className={styles["comment"]}>
        Comment
        <input value={comment} maxLength={1_000} onChange={(event) => setComment(event.target.value)} />
      </label>
      <div className="cq-action-card-buttons">
        <Button
          look="primary"
          disabled={isBusy || !reading.isDone}
          aria-describedby={reading.hintId}
          onClick={() => void send(approve)}
        >
          Approve
        </Button>
        <Button disabled={isBusy} onClick={() => void send(deny)}>
          Deny
        </Button>
      </div>
      {failure !== null && (
        <p className="cq-action-card-failure" role="alert">
          {failure}
        </p>
      )}
      <p className="cq-action-card-until">
        Without a decision by <Moment at={expires_at} />, this counts as denied.
      </p>
    </section>
  );
}
