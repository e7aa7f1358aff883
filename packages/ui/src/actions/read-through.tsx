import { useReadToEnd, type ReadToEnd } from "@colloquy/react";
import { useId, useRef, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { isolatedTexts } from "./approved-text.ts";

/** How much of a text the user has read before approving it. */
export interface Reading extends ReadToEnd {
  /** Id of the sentence that asks the user to read on. */
  readonly hintId: string;
}

export function useReading(text: string): Reading {
  return { ...useReadToEnd(text), hintId: useId() };
}

/** Shows the complete text of a request (`approvedText` or `visibleText`), which the user must scroll to the end. */
export function ReadThrough({
  label,
  text,
  reading: { end, isDone, isLong, hintId },
}: {
  readonly label: string;
  readonly text: string;
  readonly reading: Reading;
}): ReactNode {
  const box = useRef<HTMLPreElement>(null);
  const readOn = (): void => {
    const pre = box.current;
    if (pre === null) return;
    // Keep the last line in view as the first.
    pre.scrollBy({ top: pre.clientHeight * 0.9 });
    // This button disappears: move the focus to the text, not to the approve button.
    if (pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 1) pre.focus();
  };
  return (
    <section role="group" className="cq-action-card-read" aria-label={label}>
      <header>
        <p>{label}</p>
        <CopyButton label={`Copy ${label.toLowerCase()}`} text={text} />
      </header>
      <pre ref={box} tabIndex={0} dir="ltr">
        {isolatedTexts(text).map((part, index) => (index % 2 === 0 ? part : <bdi key={index}>{part}</bdi>))}
        <span ref={end} className="cq-action-card-end" />
      </pre>
      <div className={isLong ? "cq-action-card-hint" : undefined}>
        <p id={hintId} role="status">
          {isLong && (isDone ? "You have reached the end." : "Read to the end to approve.")}
        </p>
        {isLong && !isDone && (
          <Button size="small" data-shortcut="decide" onClick={readOn}>
            Continue reading
          </Button>
        )}
      </div>
    </section>
  );
}
