import { X } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { Button, IconButton } from "../design/button.tsx";
import { usePage } from "./page-context.tsx";
import type { Failure } from "./failure.ts";

/** Shows failures until the user dismisses each, because some are reported nowhere else. */
export function FailureBars({
  failures,
  onDismiss,
}: {
  readonly failures: readonly Failure[];
  readonly onDismiss: (failure: Failure) => void;
}): ReactNode {
  if (failures.length === 0) return null;
  return (
    <div className="cq-bars-failures">
      {failures.map((failure) => (
        <FailureBar key={failure.sentence} failure={failure} onDismiss={() => onDismiss(failure)} />
      ))}
    </div>
  );
}

function FailureBar({
  failure,
  onDismiss,
}: {
  readonly failure: Failure;
  readonly onDismiss: () => void;
}): ReactNode {
  const { askForKey } = usePage();
  return (
    <div className="cq-bars-failure" role="alert">
      <p dir="auto">{failure.sentence}</p>
      {failure.needsKey && askForKey !== null && (
        <Button size="small" onClick={askForKey}>
          Enter a key
        </Button>
      )}
      <IconButton size="small" label="Dismiss" onClick={onDismiss}>
        <X size={16} />
      </IconButton>
    </div>
  );
}
