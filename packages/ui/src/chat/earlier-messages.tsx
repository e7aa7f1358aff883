import { useAuiState, useThreadViewport } from "@assistant-ui/react";
import { useEffect, useLayoutEffect, useRef, type ReactNode, type RefObject } from "react";
import { Button } from "../design/button.tsx";
import { isTooMany } from "./shown-range.ts";
import { useWantedMessage } from "./use-message-jump.ts";
import type { ShownMessages } from "./use-shown-messages.ts";

/** Distance to the top in pixels at which scrolling up shows earlier messages. */
const NEAR_TOP = 200;

/** Shown above the first rendered message, in the viewport. */
export function EarlierMessages({ earlier, later, isLoading, ...shown }: ShownMessages): ReactNode {
  const { showEarlier, showNewest } = shown;
  const place = useRef<HTMLDivElement>(null);
  const keepScrollPosition = useScrollAnchor(place);
  const rendered = useAuiState(({ thread }) => thread.messages.length);
  const isAtNewest = useThreadViewport(({ isAtBottom }) => isAtBottom) && later === 0;
  // The page is about to scroll to one of them.
  const isJumping = useWantedMessage() !== null;
  useEffect(() => {
    if (isAtNewest && isTooMany(rendered) && !isJumping) showNewest();
  }, [isAtNewest, isJumping, rendered, showNewest]);
  useScrollToNewest(earlier);
  const show = (): void => showEarlier(keepScrollPosition);
  useScrollToTop(place, earlier > 0 && !isJumping ? show : null);
  return (
    <div ref={place} className="cq-thread-earlier">
      {earlier > 0 && (
        <Button look="quiet" size="small" aria-busy={isLoading} onClick={show}>
          {isLoading ? "Loading earlier messages…" : `Show earlier messages (${earlier})`}
        </Button>
      )}
    </div>
  );
}

/** Shown below the last rendered message if it is not the newest. */
export function LaterMessages({ later, showLater }: ShownMessages): ReactNode {
  if (later === 0) return null;
  return (
    <div className="cq-thread-earlier">
      <Button look="quiet" size="small" onClick={showLater}>
        Show later messages ({later})
      </Button>
    </div>
  );
}

function viewportOf(place: RefObject<HTMLElement | null>): HTMLElement | null {
  return place.current?.closest<HTMLElement>("[role=log]") ?? null;
}

/** Calls `onTop` when the user scrolls near the top. */
function useScrollToTop(place: RefObject<HTMLElement | null>, onTop: (() => void) | null): void {
  const latest = useRef(onTop);
  useEffect(() => {
    latest.current = onTop;
  });
  useEffect(() => {
    const viewport = viewportOf(place);
    if (viewport === null) return;
    let last = viewport.scrollTop;
    // True from a call until the viewport leaves the top: the browser itself scrolls up while it lays out messages there.
    let hasCalled = false;
    // Only scrolling up counts: opening a conversation scrolls down.
    const onScroll = (): void => {
      const isUp = viewport.scrollTop < last;
      last = viewport.scrollTop;
      if (last >= NEAR_TOP) hasCalled = false;
      else if (isUp && !hasCalled && latest.current !== null) {
        hasCalled = true;
        latest.current();
      }
    };
    // At the very top, or if the messages fit into the viewport, there are no scroll events.
    const onWheel = ({ deltaY }: WheelEvent): void => {
      if (deltaY < 0 && viewport.scrollTop === 0) latest.current?.();
    };
    viewport.addEventListener("scroll", onScroll, { passive: true });
    viewport.addEventListener("wheel", onWheel, { passive: true });
    return () => {
      viewport.removeEventListener("scroll", onScroll);
      viewport.removeEventListener("wheel", onWheel);
    };
  }, [place]);
}

/**
 * Scrolls down when rendering returns to the newest messages. `earlier` is the number of messages before the
 * rendered ones.
 */
function useScrollToNewest(earlier: number): void {
  const scrollToBottom = useThreadViewport((viewport) => viewport.scrollToBottom);
  const before = useRef(earlier);
  useEffect(() => {
    if (earlier > before.current) scrollToBottom();
    before.current = earlier;
  }, [earlier, scrollToBottom]);
}

/**
 * Returns a function to call before earlier messages are inserted: it keeps the first message at its place on
 * the screen.
 */
function useScrollAnchor(place: RefObject<HTMLElement | null>): () => void {
  const first = useAuiState(({ thread }) => thread.messages[0]?.id);
  const kept = useRef<{ readonly element: Element; readonly top: number } | null>(null);
  useLayoutEffect(() => {
    const viewport = viewportOf(place);
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
