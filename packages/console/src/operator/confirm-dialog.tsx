import { useState, type ReactNode } from "react";
import { Button, Dialog } from "@colloquy/ui/parts";
import { useAdministration } from "./administration.tsx";
import styles from "./operator.module.css";

/** Asks before an irreversible action, and shows the reason if it fails. */
export function ConfirmDialog({
  title,
  action,
  look = "danger",
  children,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  /** Label of the button. */
  readonly action: string;
  readonly look?: "danger" | "primary";
  readonly children: ReactNode;
  /** Performs the action. The caller closes the dialog afterwards. */
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
