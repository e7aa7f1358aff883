import type { ThreadEntry } from "@colloquy/react";
import { Pencil, Trash2 } from "../design/icons.tsx";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { IconButton } from "../design/button.tsx";
import { hashOf } from "../shell/route.ts";
import { RenameForm } from "./rename-form.tsx";
import styles from "./thread-list.module.css";

/** A conversation of the list: a link, its rename form, and its actions. */
export function ThreadItem({
  thread,
  isCurrent,
  onRename,
  onDelete,
}: {
  readonly thread: ThreadEntry;
  readonly isCurrent: boolean;
  readonly onRename: (id: string, title: string) => Promise<void>;
  readonly onDelete: (thread: ThreadEntry) => void;
}): ReactNode {
  const { session_id: id, title } = thread;
  const [isRenaming, setRenaming] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const wasRenaming = useRef(false);
  useEffect(() => {
    // It is mounted again only now.
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
