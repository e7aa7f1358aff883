import { useMemo, type ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";

/**
 * Maximum characters to render, so that the browser does not lay out megabytes. Copying always copies
 * everything.
 */
const LONGEST = 20_000;

/** Indented JSON as plain text. */
export function JsonText({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  const shown = useMemo(() => indented(text), [text]);
  return (
    <section role="group" className="cq-json-text-json" aria-label={label}>
      <header className="cq-json-text-header">
        <p>{label}</p>
        <CopyButton label={`Copy ${label.toLowerCase()}`} text={shown} />
      </header>
      <pre tabIndex={0} dir="auto">
        {shown.length > LONGEST
          ? `${shown.slice(0, LONGEST)}\n… ${shown.length - LONGEST} characters more`
          : shown}
      </pre>
    </section>
  );
}

/** Indents JSON, and unwraps a string value from its quotes and escapes. */
function indented(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
