import { Check, Copy, X } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";

/** Milliseconds for which it says what has become of it. */
const TOLD_MS = 2_500;

/**
 * Puts a text on the clipboard, and says so. `label` is what is copied ("Copy the command"); with `hasText` it is shown beside the icon.
 * Browsers give pages the clipboard over HTTPS and on the loopback alone.
 */
export function CopyButton({
  text,
  label,
  hasText = false,
}: {
  readonly text: string | (() => string);
  readonly label: string;
  readonly hasText?: boolean;
}): ReactNode {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), TOLD_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = (): void => {
    const given = typeof text === "string" ? text : text();
    writeText(given).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  };
  const Icon = outcome === null ? Copy : outcome === "copied" ? Check : X;
  const icon = <Icon size={15} aria-hidden />;
  return (
    <>
      {hasText ? (
        <Button size="small" onClick={copy}>
          {icon}
          {label}
        </Button>
      ) : (
        <IconButton size="small" label={label} onClick={copy}>
          {icon}
        </IconButton>
      )}
      <span role="status" className="visually-hidden">
        {outcome === "copied" && "Copied."}
        {outcome === "failed" && "It could not be copied: the browser does not give this page the clipboard."}
      </span>
    </>
  );
}

async function writeText(text: string): Promise<void> {
  // Absent on pages that came over HTTP from another machine, whatever the types say.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) throw new Error("There is no clipboard.");
  await clipboard.writeText(text);
}
