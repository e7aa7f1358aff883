import { X } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import type { Failure } from "./failure.ts";
import styles from "./bars.module.css";

/** Shows failures until the user dismisses each, because some are reported nowhere else. */
export function FailureBars({
  failures,
  onDismiss,
  onKeyWanted,
}: {
  readonly failures: readonly Failure[];
  readonly onDismiss: (failure: Failure) => void;
  readonly onKeyWanted: () => void;
}): ReactNode {
  if (failures.length === 0) return null;
  return (
    <div className={styles["failures"]}>
      {failures.map((failure) => (
        <FailureBar
          key={failure.sentence}
          failure={failure}
          onDismiss={() => onDismiss(failure)}
          onKeyWanted={onKeyWanted}
        />
      ))}
    </div>
  );
}

function FailureBar({
  failure,
  onDismiss,
  onKeyWanted,
}: {
  readonly failure: Failure;
  readonly onDismiss: () => void;
  readonly onKeyWanted: () => void;
}): ReactNode {
  return (
    <div className={styles["failure"]} role="alert">
      <p dir="auto">{failure.sentence}</p>
      {failure.needsKey && (
        <Button size="small" onClick={onKeyWanted}>
          Enter a key
        </Button>
      )}
      <IconButton size="small" label="Dismiss" onClick={onDismiss}>
        <X size={16} />
      </IconButton>
    </div>
  );
}
