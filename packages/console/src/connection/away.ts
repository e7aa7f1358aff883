// Detects that a page has been hidden for a while.

/** The parts of the page used here. */
export interface VisiblePage {
  readonly visibilityState: string;
  addEventListener(event: "visibilitychange", listener: () => void): void;
}

export interface Away {
  readonly isAway: () => boolean;
  /** Calls back at each change. Returns a function that unsubscribes. */
  readonly onChange: (listener: () => void) => () => void;
}

/** Milliseconds after which a hidden page counts as away. */
export const AWAY_MS = 60_000;

/** Watches the page permanently. `after` schedules a callback and returns a function that cancels it. */
export function watchAway(
  page: VisiblePage,
  after: (ms: number, callback: () => void) => () => void = onPageTimer,
): Away {
  const listeners = new Set<() => void>();
  let isAway = false;
  let stop = (): void => undefined;
  const become = (now: boolean): void => {
    if (isAway === now) return;
    isAway = now;
    for (const listener of listeners) listener();
  };
  const look = (): void => {
    stop();
    if (page.visibilityState === "visible") become(false);
    else stop = after(AWAY_MS, () => become(true));
  };
  page.addEventListener("visibilitychange", look);
  look();
  return {
    isAway: () => isAway,
    onChange: (listener) => {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}

function onPageTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
