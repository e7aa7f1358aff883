import { useEffect, useState } from "react";

export interface ReadToEnd {
  /** Ref of an element at the end of the text, whose parent scrolls. */
  readonly end: (element: HTMLElement | null) => void;
  /** True once the end of this text was visible. Allow an approval only then. */
  readonly isDone: boolean;
  /** True if the user has to scroll to see the end. */
  readonly isLong: boolean;
}

/** Detects whether the user has seen a text to its end. */
export function useReadToEnd(text: string): ReadToEnd {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [seen, setSeen] = useState<string | null>(null);
  const [isLong, setLong] = useState(false);
  const isDone = seen === text;
  useEffect(() => {
    if (isDone || element === null) return undefined;
    const look = (entries: readonly IntersectionObserverEntry[]): void => {
      if (entries.at(-1)?.isIntersecting === true) setSeen(text);
      else setLong(true);
    };
    const observer = new IntersectionObserver(look, { root: element.parentElement });
    observer.observe(element);
    return () => observer.disconnect();
  }, [isDone, element, text]);
  return { end: setElement, isDone, isLong };
}
