import { useState, type ReactNode } from "react";
import styles from "./thread-list.module.css";

/** What the service takes at most. */
const LONGEST = 200;

/** Enter gives the name, Escape leaves it as it was. */
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
      className={styles["rename"]}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        // The person has just asked to write here.
        autoFocus
        aria-label="New title"
        value={name}
        maxLength={LONGEST}
        dir="auto"
        onFocus={(event) => event.target.select()}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          // The dialog around it on a narrow screen stays.
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }}
      />
      {failure !== null && <p role="alert">{failure}</p>}
    </form>
  );
}
