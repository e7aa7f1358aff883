import { useMemo, type ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";
import styles from "./json-text.module.css";

/** Longer JSON is cut, so that the browser does not lay out megabytes. Copying gives all of it. */
const LONGEST = 20_000;

/** Indented JSON as plain text. */
export function JsonText({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  const shown = useMemo(() => indented(text), [text]);
  return (
    <section role="group" className={styles["json"]} aria-label={label}>
      <header className={styles["header"]}>
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

/** Shows a string without the quotes and escapes of JSON. */
function indented(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
