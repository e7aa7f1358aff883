// Page layout: navigation at the left, which can be hidden, and main view in the middle. On narrow screens, the
// navigation is a dialog.

import { createContext, use, useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { usePage } from "../chat/page-context.tsx";
import { NewChatLink } from "../chat/new-chat-link.tsx";
import { IconButton } from "../design/button.tsx";
import { classes } from "../design/classes.ts";
import { Dialog } from "../design/dialog.tsx";
import { Menu, PanelLeft } from "../design/icons.tsx";
import { useMediaQuery } from "../design/use-media-query.ts";
import type { ShortcutName } from "./shortcuts.ts";
import { ShortcutsDialog } from "./shortcuts-dialog.tsx";
import { useCollapsed } from "./use-collapsed.ts";
import { targetOf, useShortcuts } from "./use-shortcuts.ts";

const ShortcutsContext = createContext<(() => void) | null>(null);

/** Returns a function that opens the list of shortcuts; `null` outside of a `Frame`. */
export function useShowShortcuts(): (() => void) | null {
  return use(ShortcutsContext);
}

export interface FrameProps {
  readonly navigation: ReactNode;
  /** Identifies the current page. A change closes the menu on narrow screens, because it covers the page. */
  readonly place: string;
  /** The main view. `menu` shows and hides the navigation. */
  readonly children: (menu: ReactNode) => ReactNode;
  /** Rendered beside the main view. */
  readonly aside?: ReactNode;
  readonly className?: string | undefined;
}

export function Frame({ navigation, place, children, aside, className }: FrameProps): ReactNode {
  const hasRoom = useMediaQuery("(min-width: 52rem)");
  const [isOpen, setOpen] = useState(false);
  const content = useRef<HTMLElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const { address } = usePage();
  const [isListing, setListing] = useState(false);
  useEffect(() => setOpen(false), [place]);
  const [isCollapsed, setCollapsed] = useCollapsed();
  const menu = hasRoom ? (
    <>
      <IconButton
        label={isCollapsed ? "Show the sidebar" : "Hide the sidebar"}
        onClick={() => setCollapsed(!isCollapsed)}
      >
        <PanelLeft size={18} />
      </IconButton>
      {isCollapsed && <NewChatLink />}
    </>
  ) : (
    <IconButton label="Menu" onClick={() => setOpen(true)}>
      <Menu size={20} />
    </IconButton>
  );
  const showNavigation = (): void => (hasRoom ? setCollapsed(false) : setOpen(true));
  const run = (name: ShortcutName, root: HTMLElement): boolean => {
    if (name === "new_chat") address.open(null);
    else if (name === "shortcuts") setListing(true);
    else if (name === "sidebar" && hasRoom) setCollapsed(!isCollapsed);
    else if (name === "sidebar") setOpen(true);
    else {
      if (name === "search") flushSync(showNavigation);
      const target = targetOf(root, name);
      if (name === "stop") target?.click();
      else target?.focus();
      return target !== null;
    }
    return true;
  };
  useShortcuts(frame, run);
  return (
    <ShortcutsContext value={() => setListing(true)}>
      <div ref={frame} className={classes("cq cq-frame", className)}>
        <button type="button" className="cq-frame-skip" onClick={() => content.current?.focus()}>
          Skip to the content
        </button>
        {hasRoom && !isCollapsed && <div className="cq-frame-sidebar">{navigation}</div>}
        <main ref={content} tabIndex={-1} className="cq-frame-content">
          {children(menu)}
        </main>
        {aside}
        {isOpen && !hasRoom && (
          <Dialog title="Menu" side="left" onClose={() => setOpen(false)}>
            {navigation}
          </Dialog>
        )}
        {isListing && <ShortcutsDialog onClose={() => setListing(false)} />}
      </div>
    </ShortcutsContext>
  );
}
