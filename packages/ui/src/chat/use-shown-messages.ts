import type { SessionView } from "@colloquy/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import {
  clampedRange,
  earlierRange,
  laterRange,
  newestRange,
  rangeAround,
  type ShownRange,
} from "./shown-range.ts";

/** The rendered messages of a conversation. */
export interface ShownMessages {
  /** Number of messages from the first rendered one to the newest. */
  readonly newest: number;
  /** Numbers of messages before and after the rendered ones. */
  readonly earlier: number;
  readonly later: number;
  /** True while earlier messages are being loaded. */
  readonly isLoading: boolean;
  /** Renders earlier messages, and loads them if necessary. Calls `onShow` directly before the change. */
  readonly showEarlier: (onShow: () => void) => void;
  readonly showLater: () => void;
  /** Renders the loaded message at this index and some around it. */
  readonly showAround: (index: number) => void;
  /** Renders only the newest messages. */
  readonly showNewest: () => void;
}

/** Selects the messages of a session to render. Calls `onError` if earlier ones cannot be loaded. */
export function useShownMessages(
  { snapshot, loadEarlier }: Pick<SessionView, "snapshot" | "loadEarlier">,
  onError: (error: unknown) => void,
): ShownMessages {
  const [chosen, setChosen] = useState<ShownRange | null>(null);
  const [isLoading, setLoading] = useState(false);
  const loaded = snapshot?.messages_before ?? 0;
  const total = loaded + (snapshot?.messages.length ?? 0);
  // The range has absolute indexes, so that new answers do not unmount messages that the user is reading.
  if (chosen === null && snapshot !== null) setChosen(newestRange(total));
  const { from, to } = clampedRange(chosen ?? newestRange(total), loaded, total);
  const latest = useRef({ loaded, total, onError, isLoading: false });
  useEffect(() => {
    latest.current = { ...latest.current, loaded, total, onError };
  });
  const showEarlier = useCallback(
    async (onShow: () => void) => {
      if (latest.current.isLoading) return;
      const wanted = earlierRange({ from, to });
      if (wanted.from < latest.current.loaded) {
        latest.current.isLoading = true;
        setLoading(true);
        try {
          await loadEarlier();
        } catch (error) {
          latest.current.onError(error);
          return;
        } finally {
          latest.current.isLoading = false;
          setLoading(false);
        }
      }
      onShow();
      setChosen(wanted);
    },
    [from, to, loadEarlier],
  );
  const showLater = useCallback(() => setChosen(laterRange({ from, to }, total)), [from, to, total]);
  const showAround = useCallback((index: number) => {
    const { loaded, total } = latest.current;
    setChosen((before) => rangeAround(loaded + index, before ?? newestRange(total), total));
  }, []);
  const showNewest = useCallback(() => setChosen(newestRange(latest.current.total)), []);
  return useMemo(
    () => ({
      newest: total - from,
      earlier: from,
      later: to === null ? 0 : total - to,
      isLoading,
      showEarlier: (onShow) => void showEarlier(onShow),
      showLater,
      showAround,
      showNewest,
    }),
    [total, from, to, isLoading, showEarlier, showLater, showAround, showNewest],
  );
}
