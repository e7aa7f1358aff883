import { useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { Dialog } from "../design/dialog.tsx";
import { useAdministration } from "./administration.tsx";
import styles from "./operator.module.css";

/** Asks before something is done that cannot be undone, and stays with the reason when it fails. */
export function ConfirmDialog({
  title,
  action,
  look = "danger",
  children,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  /** What the button says. */
  readonly action: string;
  readonly look?: "danger" | "primary";
  readonly children: ReactNode;
  /** Does it. The dialog is the caller's to close afterwards. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}): ReactNode {
  const { explain } = useAdministration();
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
    } catch (error) {
      setProblem(explain(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        {children}
        <p role="alert" className={styles["wrong"]}>
          {problem}
        </p>
        <div className={styles["buttons"]}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={look} disabled={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
