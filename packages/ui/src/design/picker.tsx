import { ChevronDown } from "./icons.tsx";
import type { ReactNode } from "react";

/** A select as wide as its current text. */
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
  /** Called on focus or hover, so that options can be loaded before the select opens. */
  readonly onReach?: () => void;
}): ReactNode {
  return (
    <span className="cq-picker">
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
