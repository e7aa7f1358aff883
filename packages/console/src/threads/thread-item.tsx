import type { ThreadEntry } from "@colloquy/react";
import { Pencil, Pin, PinOff, Trash2 } from "../design/icons.tsx";
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { IconButton } from "../design/button.tsx";
import { hashOf } from "../shell/route.ts";
import { RenameForm } from "./rename-form.tsx";
import styles from "./thread-list.module.css";

interface PinButtonProps {
  readonly thread: ThreadEntry;
  /** True while the thread is being pinned or unpinned. */
  readonly isPinning: boolean;
  readonly onPin: (thread: ThreadEntry) => void;
}

/** A conversation of the list: a link, its rename form, and its actions. */
export function ThreadItem({
  thread,
  isCurrent,
  isPinning,
  onPin,
  onRename,
  onDelete,
}: {
  readonly isCurrent: boolean;
  readonly onRename: (id: string, title: string) => Promise<void>;
  readonly onDelete: (thread: ThreadEntry) => void;
} & PinButtonProps): ReactNode {
  const { session_id: id, title } = thread;
  const [isRenaming, setRenaming] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const wasRenaming = useRef(false);
  useEffect(() => {
    // The pencil is unmounted during a rename, so it can get the focus only now.
    if (wasRenaming.current && !isRenaming) pencil.current?.focus();
    wasRenaming.current = isRenaming;
  }, [isRenaming]);
  if (isRenaming) {
    return (
      <li>
        <RenameForm title={title} onSave={(name) => onRename(id, name)} onClose={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li className={styles["item"]}>
      <a
        href={hashOf({ page: "chat", sessionId: id })}
        aria-current={isCurrent ? "page" : undefined}
        title={title}
      >
        <bdi>{title}</bdi>
      </a>
      <span className={styles["verbs"]}>
        <PinButton thread={thread} isPinning={isPinning} onPin={onPin} />
        <IconButton ref={pencil} size="small" label={`Rename ${title}`} onClick={() => setRenaming(true)}>
          <Pencil size={14} />
        </IconButton>
        <IconButton size="small" label={`Delete ${title}`} onClick={() => onDelete(thread)}>
          <Trash2 size={14} />
        </IconButton>
      </span>
    </li>
  );
}

function PinButton({ thread, isPinning, onPin }: PinButtonProps): ReactNode {
  const { title, pinned } = thread;
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    // React mounts a new item when a thread moves to another group, so its pin button loses the focus.
    if (isPinning && document.activeElement === document.body) button.current?.focus();
  }, [isPinning]);
  return (
    <IconButton
      ref={button}
      size="small"
      aria-disabled={isPinning}
      label={`${pinned === true ? "Unpin" : "Pin"} ${title}`}
      onClick={() => onPin(thread)}
    >
      {pinned === true ? <PinOff size={14} /> : <Pin size={14} />}
    </IconButton>
  );
}
