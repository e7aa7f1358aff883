import { keepComposition } from "../design/keep-composition.ts";
import { useState, type ReactNode } from "react";

/** Maximum length that the service accepts. */
const LONGEST = 200;

/** A form for the title. Enter saves, Escape cancels. */
export function RenameForm({
  title,
  onSave,
  onClose,
}: {
  readonly title: string;
  readonly onSave: (title: string) => Promise<void>;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState(title);
  const [failure, setFailure] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    const given = name.trim();
    if (given === "" || given === title) return onClose();
    try {
      await onSave(given);
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "It was not renamed. Try again.");
    }
  };
  return (
    <form
      className="cq-thread-list-rename"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        // The user has just chosen to edit, so move the focus here.
        autoFocus
        aria-label="New title"
        value={name}
        maxLength={LONGEST}
        dir="auto"
        onFocus={(event) => event.target.select()}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          keepComposition(event);
          if (event.key !== "Escape") return;
          // Keep the surrounding dialog on a narrow screen open.
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }}
      />
      {failure !== null && <p role="alert">{failure}</p>}
    </form>
  );
}
