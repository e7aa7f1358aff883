import { useEffect, useRef, type RefObject } from "react";
import { Pencil, Pin, PinOff, Trash2 } from "../design/icons.tsx";
import type { MenuItem } from "../design/menu-button.tsx";

/** Returns the menu items that rename, pin or unpin, and delete a conversation, with `others` before the last. */
export function threadActions(
  isPinned: boolean,
  on: { readonly rename: () => void; readonly togglePin: () => void; readonly delete: () => void },
  others: readonly MenuItem[] = [],
): readonly MenuItem[] {
  return [
    { label: "Rename", icon: <Pencil size={15} />, onSelect: on.rename },
    {
      label: isPinned ? "Unpin" : "Pin",
      icon: isPinned ? <PinOff size={15} /> : <Pin size={15} />,
      onSelect: on.togglePin,
    },
    ...others,
    { label: "Delete", icon: <Trash2 size={15} />, onSelect: on.delete, isDanger: true },
  ];
}

/** Focuses the button when `isReplaced` ends: until then, a form takes its place. */
export function useFocusAfter(isReplaced: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  const wasReplaced = useRef(false);
  useEffect(() => {
    if (wasReplaced.current && !isReplaced) button.current?.focus();
    wasReplaced.current = isReplaced;
  }, [isReplaced]);
  return button;
}
