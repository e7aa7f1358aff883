// The browser's own dialog: it keeps the keyboard inside, closes by Escape, and gives the focus back.

import { X } from "lucide-react";
import { useId, useLayoutEffect, useRef, type ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { classes } from "./classes.ts";
import styles from "./dialog.module.css";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Where it stands; in the middle when absent. */
  readonly side?: "left" | "right";
}

/** Shown as long as it is rendered. */
export function Dialog({ title, onClose, side, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    element.showModal();
    // What there is to write comes first; at a side it would bring up the keyboard of a phone.
    if (side === undefined) element.querySelector("input")?.focus();
    return () => element.close();
  }, [side]);
  return (
    <dialog
      ref={dialog}
      className={classes(styles["dialog"], side !== undefined && styles[side])}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles["content"]}>
        <header className={styles["header"]}>
          <h2 id={titleId}>{title}</h2>
          <IconButton label="Close" onClick={onClose}>
            <X size={18} aria-hidden />
          </IconButton>
        </header>
        <div className={styles["body"]}>{children}</div>
      </div>
    </dialog>
  );
}
