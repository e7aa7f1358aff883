import { useEffect, useEffectEvent, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { isolatedTexts } from "./approved-text.ts";
import styles from "./action-card.module.css";

/** How far a person has read the text to approve. */
export interface Reading {
  /** Whether the end has been in view, a precondition for approving. */
  readonly isDone: boolean;
  /** Id of the sentence that says what is missing. */
  readonly hintId: string;
  readonly finish: () => void;
}

export function useReading(): Reading {
  const [isDone, setDone] = useState(false);
  return { isDone, hintId: useId(), finish: () => setDone(true) };
}

/**
 * Shows a text to approve in full, as formatted by `approvedText` or `visibleText`. `reading` is done once
 * its end has been scrolled into view.
 */
export function ReadThrough({
  label,
  text,
  reading: { isDone, hintId, finish },
}: {
  readonly label: string;
  readonly text: string;
  readonly reading: Reading;
}): ReactNode {
  const box = useRef<HTMLPreElement>(null);
  const end = useRef<HTMLSpanElement>(null);
  const [isLong, setLong] = useState(false);
  const look = useEffectEvent((entries: readonly IntersectionObserverEntry[]) => {
    if (entries.at(-1)?.isIntersecting === true) finish();
    else setLong(true);
  });
  useEffect(() => {
    if (isDone || end.current === null) return undefined;
    const observer = new IntersectionObserver((entries) => look(entries), { root: box.current });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isDone, text]);
  const readOn = (): void => {
    const pre = box.current;
    if (pre === null) return;
    // Keep the last line in view as the first.
    pre.scrollBy({ top: pre.clientHeight * 0.9 });
    // This button disappears: move the focus to the text, not to the approve button.
    if (pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 1) pre.focus();
  };
  return (
    <section role="group" className={styles["read"]} aria-label={label}>
      <header>
        <p>{label}</p>
        <CopyButton label={`Copy ${label.toLowerCase()}`} text={text} />
      </header>
      <pre ref={box} tabIndex={0} dir="ltr">
        {isolatedTexts(text).map((part, index) => (index % 2 === 0 ? part : <bdi key={index}>{part}</bdi>))}
        <span ref={end} className={styles["end"]} />
      </pre>
      <div className={isLong ? styles["hint"] : undefined}>
        <p id={hintId} role="status">
          {isLong && (isDone ? "You have reached the end." : "Read to the end to approve.")}
        </p>
        {isLong && !isDone && (
          <Button size="small" onClick={readOn}>
            Continue reading
          </Button>
        )}
      </div>
    </section>
  );
}
