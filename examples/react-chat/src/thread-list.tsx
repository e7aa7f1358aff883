import { ThreadListItemPrimitive, ThreadListPrimitive } from "@assistant-ui/react";
import type { ReactNode } from "react";

export function ThreadList(): ReactNode {
  return (
    <ThreadListPrimitive.Root className="threads" aria-label="Conversations">
      <ThreadListPrimitive.New>New conversation</ThreadListPrimitive.New>
      <ThreadListPrimitive.Items components={{ ThreadListItem: Row }} />
    </ThreadListPrimitive.Root>
  );
}

function Row(): ReactNode {
  return (
    <ThreadListItemPrimitive.Root className="thread-row">
      <ThreadListItemPrimitive.Trigger className="title">
        <ThreadListItemPrimitive.Title fallback="New conversation" />
      </ThreadListItemPrimitive.Trigger>
      <ThreadListItemPrimitive.Delete aria-label="Delete">×</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}
