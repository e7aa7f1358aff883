import { useCallback, useMemo, useState } from "react";
import { leftOutAfterMore, leftOutAtNewest } from "./newest-messages.ts";

export interface NewestMessages {
  /** How many are on the page. */
  readonly newest: number;
  /** How many stand before them. */
  readonly leftOut: number;
  readonly showEarlier: () => void;
  /** Goes back to the newest alone. */
  readonly letGo: () => void;
}

/** Which of `total` messages are on the page; `null` while that is not known. */
export function useNewestMessages(total: number | null): NewestMessages {
  const [chosen, setChosen] = useState<number | null>(null);
  // Counted from the first one, so that nothing goes away above what is read while answers come.
  if (chosen === null && total !== null) setChosen(leftOutAtNewest(total));
  const leftOut = Math.min(chosen ?? 0, total ?? 0);
  const showEarlier = useCallback(() => setChosen(leftOutAfterMore(leftOut)), [leftOut]);
  const letGo = useCallback(() => setChosen(leftOutAtNewest(total ?? 0)), [total]);
  return useMemo(
    () => ({ newest: (total ?? 0) - leftOut, leftOut, showEarlier, letGo }),
    [total, leftOut, showEarlier, letGo],
  );
}
