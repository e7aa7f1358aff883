import { useThreads } from "@colloquy/react";
import { useState, type ReactNode } from "react";
import { failureOf } from "../chat/failure.ts";
import { usePage } from "../chat/page-context.tsx";
import { useFork } from "../chat/use-fork.ts";
import { ChevronDown, GitFork } from "../design/icons.tsx";
import { MenuButton } from "../design/menu-button.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { RenameForm } from "./rename-form.tsx";
import { threadActions, useFocusAfter } from "./thread-actions.tsx";

/** The title of a conversation, with a menu to rename, pin, copy and delete it. */
export function TitleMenu({
  sessionId,
  title,
}: {
  readonly sessionId: string;
  readonly title: string;
}): ReactNode {
  const { threads, rename, pin, unpin, remove } = useThreads();
  const { address, outbox } = usePage();
  const { fork } = useFork(sessionId);
  const [opened, setOpened] = useState<"rename" | "delete" | null>(null);
  const button = useFocusAfter(opened === "rename");
  const isPinned = threads.find(({ session_id }) => session_id === sessionId)?.pinned === true;
  const close = (): void => setOpened(null);
  const togglePin = async (): Promise<void> => {
    try {
      await (isPinned ? unpin : pin)(sessionId);
    } catch (error) {
      const failed = `The conversation was not ${isPinned ? "unpinned" : "pinned"}`;
      outbox.report(sessionId, failureOf(failed, error));
    }
  };
  if (opened === "rename")
    return <RenameForm title={title} onSave={(name) => rename(sessionId, name)} onClose={close} />;
  return (
    <>
      <h1 className="cq-top-bar-title">
        <MenuButton
          ref={button}
          className="cq-top-bar-menu"
          title={title}
          items={threadActions(
            isPinned,
            {
              rename: () => setOpened("rename"),
              togglePin: () => void togglePin(),
              delete: () => setOpened("delete"),
            },
            [{ label: "Continue in a copy", icon: <GitFork size={15} />, onSelect: () => void fork() }],
          )}
        >
          <bdi>{title}</bdi>
          <ChevronDown size={15} />
        </MenuButton>
      </h1>
      {opened === "delete" && (
        <DeleteDialog
          title={title}
          onClose={close}
          onDelete={async () => {
            await remove(sessionId);
            if (address.shown() === sessionId) address.open(null);
          }}
        />
      )}
    </>
  );
}
