import { useState, type ReactNode } from "react";
import styles from "./developer.module.css";

/** A line of a list that opens. What is inside is rendered when it does. */
export function LogItem({
  summary,
  children,
}: {
  readonly summary: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles["item"]}>
      <details
        open={isOpen}
        onToggle={(event) => {
          if (event.target === event.currentTarget) setOpen(event.currentTarget.open);
        }}
      >
        <summary>{summary}</summary>
        {isOpen && <div className={styles["detail"]}>{children}</div>}
      </details>
    </li>
  );
}
