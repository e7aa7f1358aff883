import { useAuiState, useThreadViewport } from "@assistant-ui/react";
import { useEffect, useLayoutEffect, useRef, type ReactNode, type RefObject } from "react";
import { Button } from "../design/button.tsx";
import { isTooMany } from "./newest-messages.ts";
import type { NewestMessages } from "./use-newest-messages.ts";
import styles from "./thread.module.css";

/** Shown above the first rendered message, in the viewport. */
export function EarlierMessages({ leftOut, showEarlier, showNewest }: NewestMessages): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const keepScrollPosition = useScrollAnchor(place);
  const shown = useAuiState(({ thread }) => thread.messages.length);
  const isAtNewest = useThreadViewport(({ isAtBottom }) => isAtBottom);
  useEffect(() => {
    if (isAtNewest && isTooMany(shown)) showNewest();
  }, [isAtNewest, shown, showNewest]);
  return (
    <div ref={place} className={styles["earlier"]}>
      {leftOut > 0 && (
        <Button
          look="quiet"
          size="small"
          onClick={() => {
            keepScrollPosition();
            showEarlier();
          }}
        >
          Show earlier messages ({leftOut})
        </Button>
      )}
    </div>
  );
}

/**
 * Returns a function to call before earlier messages are inserted: it keeps the first message at its place on
 * the screen.
 */
function useScrollAnchor(place: RefObject<HTMLElement | null>): () => void {
  const first = useAuiState(({ thread }) => thread.messages[0]?.id);
  const kept = useRef<{ readonly element: Element; readonly top: number } | null>(null);
  useLayoutEffect(() => {
    const viewport = place.current?.closest<HTMLElement>("[role=log]") ?? null;
    if (kept.current === null || viewport === null) return;
    const { element, top } = kept.current;
    kept.current = null;
    viewport.scrollTop += element.getBoundingClientRect().top - top;
    // The button disappears with the last page, and the focus with it.
    if (document.activeElement === document.body) viewport.focus({ preventScroll: true });
  }, [first, place]);
  return () => {
    const element = place.current?.nextElementSibling ?? null;
    if (element !== null) kept.current = { element, top: element.getBoundingClientRect().top };
  };
}
