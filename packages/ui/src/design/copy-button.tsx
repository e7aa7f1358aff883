import { Check, Copy } from "./icons.tsx";
import { useEffect, useState, type ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";

/** Milliseconds for which the outcome is shown. */
const OUTCOME_MS = 2_000;
const OUTCOMES = { copied: "Copied", failed: "Could not copy: select the text instead" };

/**
 * Copies `text`. Its accessible name is `label`, and briefly the outcome after a click. `hasText` shows the
 * name beside the icon.
 */
export function CopyButton({
  text,
  label,
  hasText = false,
}: {
  readonly text: string | (() => string | Promise<string>);
  readonly label: string;
  readonly hasText?: boolean;
}): ReactNode {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), OUTCOME_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    try {
      // `navigator.clipboard` is undefined in insecure contexts.
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  };
  const name = outcome === null ? label : OUTCOMES[outcome];
  const icon = outcome === "copied" ? <Check size={15} /> : <Copy size={15} />;
  const onClick = (): void => void copy();
  return hasText ? (
    <Button size="small" onClick={onClick}>
      {icon}
      {name}
    </Button>
  ) : (
    <IconButton size="small" label={name} onClick={onClick}>
      {icon}
    </IconButton>
  );
}
