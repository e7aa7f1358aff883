import { useCallback, useMemo, useState } from "react";
import { hiddenAfterMore, hiddenInitially } from "./newest-messages.ts";

export interface NewestMessages {
  /** Number of rendered messages. */
  readonly newest: number;
  /** Number of messages before them. */
  readonly leftOut: number;
  readonly showEarlier: () => void;
  /** Renders only the newest messages again. */
  readonly showNewest: () => void;
}

/** Returns which of `total` messages to render; `total` is `null` while unknown. */
export function useNewestMessages(total: number | null): NewestMessages {
  const [chosen, setChosen] = useState<number | null>(null);
  // Counted from the first message, so that new answers do not remove what is being read.
  if (chosen === null && total !== null) setChosen(hiddenInitially(total));
  const leftOut = Math.min(chosen ?? 0, total ?? 0);
  const showEarlier = useCallback(() => setChosen(hiddenAfterMore(leftOut)), [leftOut]);
  const showNewest = useCallback(() => setChosen(hiddenInitially(total ?? 0)), [total]);
  return useMemo(
    () => ({ newest: (total ?? 0) - leftOut, leftOut, showEarlier, showNewest }),
    [total, leftOut, showEarlier, showNewest],
  );
}
