import type { ThreadEntry } from "@colloquy/react";
import { useLayoutEffect, useState, type ReactNode } from "react";
import { usePage } from "../chat/page-context.tsx";
import { Ellipsis } from "../design/icons.tsx";
import { MenuButton } from "../design/menu-button.tsx";
import { RenameForm } from "./rename-form.tsx";
import { threadActions, useFocusAfter } from "./thread-actions.tsx";

/** A conversation of the list: a link, a menu, and its rename form. */
export function ThreadItem({
  thread,
  isCurrent,
  isPinning,
  onPin,
  onRename,
  onDelete,
}: {
  readonly thread: ThreadEntry;
  readonly isCurrent: boolean;
  /** True while the thread is being pinned or unpinned. */
  readonly isPinning: boolean;
  readonly onPin: (thread: ThreadEntry) => void;
  readonly onRename: (id: string, title: string) => Promise<void>;
  readonly onDelete: (thread: ThreadEntry) => void;
}): ReactNode {
  const { session_id: id, title, pinned = false } = thread;
  const { address } = usePage();
  const [isRenaming, setRenaming] = useState(false);
  const menu = useFocusAfter(isRenaming);
  useLayoutEffect(() => {
    // React mounts a new item when a thread moves to another group, so its menu button loses the focus.
    if (isPinning && document.activeElement === document.body) menu.current?.focus();
  }, [isPinning, menu]);
  if (isRenaming) {
    return (
      <li>
        <RenameForm title={title} onSave={(name) => onRename(id, name)} onClose={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li className="cq-thread-list-item">
      <a href={address.hrefOf(id)} aria-current={isCurrent ? "page" : undefined} title={title}>
        <bdi>{title}</bdi>
      </a>
      <span className="cq-thread-list-menu">
        <MenuButton
          ref={menu}
          className="cq-button cq-button-quiet cq-button-small cq-button-icon"
          aria-label={`Menu of ${title}`}
          aria-busy={isPinning}
          items={threadActions(pinned, {
            rename: () => setRenaming(true),
            togglePin: () => onPin(thread),
            delete: () => onDelete(thread),
          })}
        >
          <Ellipsis size={15} />
        </MenuButton>
      </span>
    </li>
  );
}
