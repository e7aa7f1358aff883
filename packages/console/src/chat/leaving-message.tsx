// A message between the composer and the service. Mostly it is there before anybody could see this.

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { classes } from "../design/classes.ts";
import { SendingState } from "./sending-state.tsx";
import styles from "./message.module.css";

export interface Leaving {
  readonly number: number;
  readonly text: string;
}

/** Milliseconds that a message may take without a word about it. */
const SHORT_MS = 400;

/** The messages that are on their way, and what takes note of one. */
export function useLeaving(): readonly [readonly Leaving[], (text: string, sent: Promise<unknown>) => void] {
  const [leaving, setLeaving] = useState<readonly Leaving[]>([]);
  const count = useRef(0);
  const note = useCallback((text: string, sent: Promise<unknown>) => {
    count.current += 1;
    const number = count.current;
    const arrived = (): void => setLeaving((before) => before.filter((one) => one.number !== number));
    setLeaving((before) => [...before, { number, text }]);
    // That it failed is told beside the composer.
    sent.then(arrived, arrived);
  }, []);
  return [leaving, note];
}

export function LeavingMessage({ text }: { readonly text: string }): ReactNode {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHORT_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div className={styles["user"]} role="article" aria-label="You">
      <p className={classes(styles["said"], styles["leaving"])} dir="auto">
        {text}
      </p>
      <footer className={styles["footer"]}>
        <SendingState />
      </footer>
    </div>
  );
}
