// Tabs by the ARIA Authoring Practices: one Tab stop; arrow keys move and select.

import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import styles from "./tabs.module.css";

export interface Tab {
  readonly label: string;
  /** Rendered while the tab is selected. */
  readonly content: () => ReactNode;
}

export function Tabs({
  label,
  tabs,
}: {
  readonly label: string;
  readonly tabs: readonly [Tab, ...Tab[]];
}): ReactNode {
  const id = useId();
  const [index, setIndex] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const chosen = tabs[index] ?? tabs[0];
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, index, tabs.length);
    if (next === null) return;
    event.preventDefault();
    setIndex(next);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div className={styles["tabs"]}>
      <div ref={list} role="tablist" aria-label={label} className={styles["list"]} onKeyDown={onKeyDown}>
        {tabs.map((tab, at) => (
          <button
            key={tab.label}
            type="button"
            role="tab"
            id={`${id}-${at}`}
            aria-selected={at === index}
            aria-controls={at === index ? `${id}-panel` : undefined}
            tabIndex={at === index ? 0 : -1}
            className={styles["tab"]}
            onClick={() => setIndex(at)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${index}`} className={styles["panel"]}>
        {chosen.content()}
      </div>
    </div>
  );
}

function nextIndex(key: string, index: number, count: number): number | null {
  if (key === "ArrowRight") return (index + 1) % count;
  if (key === "ArrowLeft") return (index + count - 1) % count;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}
