import type { ReactNode } from "react";
import { usePage } from "../chat/page-context.tsx";
import { Keyboard, SquarePen } from "../design/icons.tsx";
import { ThreadList } from "../threads/thread-list.tsx";
import { useShowShortcuts } from "./frame.tsx";

export interface NavigationProps {
  /** The shown conversation; `null` for a new one, `undefined` for another page. */
  readonly current: string | null | undefined;
  /** Rendered above the list: name or logo. */
  readonly brand?: ReactNode;
  /** Rendered below the list. */
  readonly footer?: ReactNode;
}

/** The list of conversations, and a link to start a new one. */
export function Navigation({ current, brand, footer }: NavigationProps): ReactNode {
  const { address } = usePage();
  const showShortcuts = useShowShortcuts();
  return (
    <nav className="cq-navigation" aria-label="Main">
      <div className="cq-navigation-top">
        {brand !== undefined && <div className="cq-navigation-brand">{brand}</div>}
        <a
          className="cq-navigation-new"
          href={address.hrefOf(null)}
          aria-current={current === null ? "page" : undefined}
        >
          <SquarePen size={16} />
          New chat
        </a>
      </div>
      <ThreadList current={current ?? null} />
      {(footer !== undefined || showShortcuts !== null) && (
        <div className="cq-navigation-bottom">
          {footer}
          {showShortcuts !== null && (
            <button
              type="button"
              className="cq-navigation-link cq-navigation-shortcuts"
              onClick={showShortcuts}
            >
              <Keyboard size={16} />
              Keyboard shortcuts
            </button>
          )}
        </div>
      )}
    </nav>
  );
}
