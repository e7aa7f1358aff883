// The browser's own dialog: it keeps the keyboard inside, closes by Escape, and gives the focus back.

import { X } from "./icons.tsx";
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
  /** What it shows is gone with it: it closes by what stands in it alone, and not by Escape or beside it. */
  readonly isHeld?: boolean;
}

/** Shown as long as it is rendered. */
export function Dialog({ title, onClose, side, isHeld = false, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
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
        if (!isHeld) onClose();
      }}
      onKeyDown={(event) => {
        // Browsers close at the second Escape whatever a page says to the cancelling.
        if (isHeld && event.key === "Escape") event.preventDefault();
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === event.currentTarget;
      }}
      onClick={(event) => {
        // Selecting a text from inside to beside it is a click on the dialog, too.
        if (!isHeld && isPressedBeside.current && event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles["content"]}>
        <header className={styles["header"]}>
          <h2 id={titleId}>{title}</h2>
          {!isHeld && (
            <IconButton label="Close" onClick={onClose}>
              <X size={18} />
            </IconButton>
          )}
        </header>
        <div className={styles["body"]}>{children}</div>
      </div>
    </dialog>
  );
}
