import { ChevronDown } from "./icons.tsx";
import type { ReactNode } from "react";
import styles from "./picker.module.css";

/** A select that is only as wide as its text. */
export function Picker({
  label,
  value,
  choices,
  onPick,
  onReach,
}: {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly string[];
  readonly onPick: (choice: string) => void;
  /** Called on focus or hover, to load the options in time. */
  readonly onReach?: () => void;
}): ReactNode {
  return (
    <span className={styles["picker"]}>
      <select
        aria-label={label}
        title={`${label}: ${value}`}
        value={value}
        onChange={(event) => onPick(event.target.value)}
        onPointerEnter={onReach}
        onFocus={onReach}
      >
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
      <ChevronDown size={14} />
    </span>
  );
}
