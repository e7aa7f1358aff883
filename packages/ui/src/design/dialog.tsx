// Uses the native <dialog>, which traps the focus, closes on Escape and restores the focus.

import { X } from "./icons.tsx";
import { useId, useLayoutEffect, useRef, type ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { classes } from "./classes.ts";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Edge of the window to which the dialog is attached; centred when absent. */
  readonly side?: "left" | "right";
  /** Prevents closing by Escape or a click outside, for content that would be lost. */
  readonly isHeld?: boolean;
}

/** A modal dialog that is open while it is mounted. */
export function Dialog({ title, onClose, side, isHeld = false, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  const titleId = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    element.showModal();
    // Focus the first input, except in a side panel: the focus would open the keyboard of a phone.
    if (side === undefined) element.querySelector("input")?.focus();
    return () => element.close();
  }, [side]);
  return (
    <dialog
      ref={dialog}
      className={classes("cq-dialog", side !== undefined && `cq-dialog-${side}`)}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (!isHeld) onClose();
      }}
      onKeyDown={(event) => {
        // Browsers close the dialog on a second Escape even if `cancel` is prevented.
        if (isHeld && event.key === "Escape") event.preventDefault();
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === event.currentTarget;
      }}
      onClick={(event) => {
        // A text selection from inside to outside also ends with a click on the dialog.
        if (!isHeld && isPressedBeside.current && event.target === event.currentTarget) onClose();
      }}
    >
      <div className="cq-dialog-content">
        <header className="cq-dialog-header">
          <h2 id={titleId}>{title}</h2>
          {!isHeld && (
            <IconButton label="Close" onClick={onClose}>
              <X size={18} />
            </IconButton>
          )}
        </header>
        <div className="cq-dialog-body">{children}</div>
      </div>
    </dialog>
  );
}
