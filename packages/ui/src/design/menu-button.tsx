// A menu in a native popover, which closes on Escape and on a click outside, and gives the focus back.

import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { classes } from "./classes.ts";

export interface MenuItem {
  readonly label: string;
  readonly icon: ReactNode;
  readonly onSelect: () => void;
  /** True for an action that cannot be undone. */
  readonly isDanger?: boolean;
}

/** Distance of the menu from its button and from the edges of the window, in CSS pixels. */
const GAP = 4;

/** A button that opens a menu. Its accessible name is its content, or `aria-label`. */
export function MenuButton({
  items,
  className,
  children,
  ...rest
}: {
  readonly items: readonly MenuItem[];
  readonly className?: string;
  readonly children: ReactNode;
  readonly ref?: React.Ref<HTMLButtonElement>;
  readonly title?: string;
  readonly "aria-label"?: string;
  readonly "aria-busy"?: boolean;
}): ReactNode {
  const id = useId();
  const popover = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const place = (): void => {
    const [menu, anchor] = [popover.current, button.current?.getBoundingClientRect()];
    if (menu === null || anchor === undefined) return;
    // Above the button if there is no room below it.
    const fits = anchor.bottom + GAP + menu.offsetHeight <= window.innerHeight;
    const top = fits ? anchor.bottom + GAP : anchor.top - GAP - menu.offsetHeight;
    menu.style.top = `${Math.max(GAP, top)}px`;
    menu.style.left = `${Math.max(GAP, Math.min(anchor.left, window.innerWidth - menu.offsetWidth - GAP))}px`;
  };
  const itemsOf = (menu: HTMLElement): HTMLElement[] => [...menu.querySelectorAll<HTMLElement>("button")];
  return (
    <span ref={button} className="cq-menu-anchor">
      <button
        {...rest}
        type="button"
        className={className}
        popoverTarget={id}
        aria-haspopup="menu"
        aria-expanded={isOpen}
      >
        {children}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        role="menu"
        className="cq-menu"
        onBeforeToggle={({ newState }) => {
          if (newState === "open") setOpen(true);
        }}
        onToggle={({ newState, currentTarget }) => {
          // Until now, the browser gives the focus back from an item.
          if (newState !== "open") return setOpen(false);
          place();
          itemsOf(currentTarget)[0]?.focus();
        }}
        onKeyDown={(event) => moveFocus(event, itemsOf(event.currentTarget))}
      >
        {(isOpen ? items : []).map(({ label, icon, onSelect, isDanger = false }) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            className={classes("cq-menu-item", isDanger && "cq-menu-danger")}
            onClick={() => {
              popover.current?.hidePopover();
              onSelect();
            }}
          >
            {icon}
            {label}
          </button>
        ))}
      </div>
    </span>
  );
}

/** Moves the focus as menus do: arrows, Home and End within the menu, Tab out of it. */
function moveFocus(event: KeyboardEvent<HTMLElement>, items: readonly HTMLElement[]): void {
  if (event.key === "Tab") return event.currentTarget.hidePopover();
  const at = items.indexOf(event.target as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}
