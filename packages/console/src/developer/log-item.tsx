import { useState, type ReactNode } from "react";
import styles from "./developer.module.css";

/** A collapsible line of a list. Its content is rendered when it opens. */
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
