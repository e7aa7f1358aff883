import { useEffect, useEffectEvent, type RefObject } from "react";
import { isApplePlatform, shortcutOf, type ShortcutName } from "./shortcuts.ts";

/**
 * Calls `run` for the shortcuts of the page around `frame`; within a shadow root, only while the focus is in it.
 * Dialogs have their own keys. `run` returns false if there is nothing to do, which leaves the key to the browser.
 */
export function useShortcuts(
  frame: RefObject<HTMLElement | null>,
  run: (name: ShortcutName, frame: HTMLElement) => boolean,
): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const { current } = frame;
    if (current === null || event.defaultPrevented || event.isComposing) return;
    // Holding the Enter that moves the focus to a decision must not press its button.
    if (event.repeat && event.key === "Enter" && targetOf(current, "decide") === event.target)
      return event.preventDefault();
    const { key, code, ctrlKey, metaKey, shiftKey, altKey } = event;
    const isApple = isApplePlatform(navigator);
    const isInField = isField(event.target);
    const name = shortcutOf({ key, code, ctrlKey, metaKey, shiftKey, altKey, isInField, isApple });
    if (name === null || current.querySelector("dialog:modal") !== null || !run(name, current)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  useEffect(() => {
    const root = frame.current?.getRootNode();
    if (root === undefined) return;
    const listener = (event: Event): void => onKeyDown(event as KeyboardEvent);
    root.addEventListener("keydown", listener);
    return () => root.removeEventListener("keydown", listener);
  }, [frame]);
}

/** Returns the first element that is marked as the target of a shortcut, and can be used. */
export function targetOf(frame: HTMLElement, name: ShortcutName): HTMLElement | null {
  return frame.querySelector<HTMLElement>(`[data-shortcut="${name}"]:not(:disabled)`);
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))
  );
}
