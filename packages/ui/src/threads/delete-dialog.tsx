import { useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { Dialog } from "../design/dialog.tsx";
import { DialogButtons, DialogFailure } from "../design/dialog-parts.tsx";

/** Confirms the deletion of a conversation. */
export function DeleteDialog({
  title,
  onDelete,
  onClose,
}: {
  readonly title: string;
  readonly onDelete: () => Promise<void>;
  readonly onClose: () => void;
}): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await onDelete();
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "It was not deleted. Try again.");
      setBusy(false);
    }
  };
  return (
    <Dialog title="Delete this conversation?" onClose={onClose}>
      <p>
        “<bdi>{title}</bdi>” is deleted with all its messages, for everybody who has it. An answer in progress
        is stopped. This cannot be undone.
      </p>
      <DialogFailure sentence={failure} />
      <DialogButtons>
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void remove()}>
          Delete
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
