import type { ReactNode } from "react";
import { Button } from "@colloquy/ui/parts";
import styles from "./operator.module.css";

/** Buttons to newer and older pages. `cursors` are those of the pages up to the current one; empty for the first. */
export function Pages({
  cursors,
  next,
  onChange,
}: {
  readonly cursors: readonly string[];
  readonly next: string | null;
  readonly onChange: (cursors: readonly string[]) => void;
}): ReactNode {
  return (
    <nav aria-label="Pages" className={styles["pages"]}>
      <Button size="small" disabled={cursors.length === 0} onClick={() => onChange(cursors.slice(0, -1))}>
        Newer
      </Button>
      <span>Page {cursors.length + 1}</span>
      <Button
        size="small"
        disabled={next === null}
        onClick={() => {
          if (next !== null) onChange([...cursors, next]);
        }}
      >
        Older
      </Button>
    </nav>
  );
}
