import type { SessionView } from "@colloquy/react";
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { MessageJump } from "./message-jumps.ts";
import { usePage } from "./page-context.tsx";
import type { ShownMessages } from "./use-shown-messages.ts";

/** Frames during which the message is kept in view. */
const SETTLING_FRAMES = 10;
/** Maximum frames to wait for assistant-ui to render the message. */
const RENDERING_FRAMES = 120;
/** Number of messages to load at a time until the requested message is loaded. */
const PORTION = 1_000;

/** Returns the requested message; `null` if there is none. */
export function useWantedMessage(): MessageJump | null {
  const { jumps } = usePage();
  return useSyncExternalStore(jumps.subscribe, jumps.wanted);
}

/** Loads and renders the requested message if it belongs to this session, and scrolls to it. */
export function useMessageJump(
  sessionId: string,
  { snapshot, hasEarlier, loadEarlier }: SessionView,
  { newest, later, showAround }: ShownMessages,
  onError: (error: unknown) => void,
): void {
  const { jumps } = usePage();
  const wanted = useWantedMessage();
  const id = wanted?.sessionId === sessionId && snapshot !== null ? wanted.messageId : null;
  const messages = snapshot?.messages ?? [];
  const index = id === null ? -1 : messages.findIndex((message) => message.id === id);
  const isRendered = index >= messages.length - newest && index < messages.length - later;
  const first = snapshot?.messages_before;
  const failed = useRef(onError);
  useEffect(() => {
    failed.current = onError;
  });
  useEffect(() => {
    if (id === null) return;
    if (index < 0 && !hasEarlier) return jumps.set(null);
    if (index < 0) {
      loadEarlier(PORTION).catch((error: unknown) => {
        jumps.set(null);
        failed.current(error);
      });
      return;
    }
    if (!isRendered) return showAround(index);
    // assistant-ui scrolls to the newest message after rendering, until a scroll event reports the jump.
    let rendering = RENDERING_FRAMES;
    let settling = SETTLING_FRAMES;
    const show = (): void => {
      const element = document.querySelector<HTMLElement>(`[data-message="${CSS.escape(id)}"]`);
      if (element === null) rendering -= 1;
      else {
        settling -= 1;
        element.tabIndex = -1;
        element.scrollIntoView({ block: "center" });
        element.focus({ preventScroll: true });
      }
      if (rendering === 0 || settling === 0) return jumps.set(null);
      frame = requestAnimationFrame(show);
    };
    let frame = requestAnimationFrame(show);
    return () => cancelAnimationFrame(frame);
    // `first` changes with each loaded portion.
  }, [id, index, first, isRendered, hasEarlier, loadEarlier, showAround, jumps]);
}
