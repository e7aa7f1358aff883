import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import type { ToolArtifact } from "@colloquy/react/assistant-ui";
import { Ban, Check, CircleHelp, LoaderCircle, TriangleAlert } from "lucide-react";
import { useRef, type ReactNode } from "react";
import { ActionCard } from "../actions/action-card.tsx";
import { classes } from "../design/classes.ts";
import { JsonText } from "../design/json-text.tsx";
import { durationText, progressText } from "./tool-words.ts";
import styles from "./tool-call.module.css";

type Look = "running" | "asking" | "complete" | "failed" | "interrupted";

const LOOKS: Readonly<Record<Look, { readonly Icon: typeof Check; readonly words: string }>> = {
  running: { Icon: LoaderCircle, words: "running" },
  asking: { Icon: CircleHelp, words: "waiting for you" },
  complete: { Icon: Check, words: "done" },
  failed: { Icon: TriangleAlert, words: "failed" },
  interrupted: { Icon: Ban, words: "stopped" },
};

/** A call of a tool: which one, how it goes, and to be opened, what went in and what came out. */
export function ToolCall({
  toolName,
  argsText,
  result,
  isError,
  artifact,
}: ToolCallMessagePartProps): ReactNode {
  const summary = useRef<HTMLElement>(null);
  const {
    status = "running",
    action = null,
    progress = null,
    duration_ms = null,
  } = (artifact as Partial<ToolArtifact> | undefined) ?? {};
  const look: Look = action === null ? status : "asking";
  const { Icon, words } = LOOKS[look];
  return (
    <div className={styles["call"]}>
      <details className={styles["details"]}>
        <summary ref={summary} className={styles["summary"]}>
          <span className={classes(styles["icon"], styles[look])}>
            <Icon size={16} aria-hidden />
          </span>
          <span className={styles["name"]} dir="auto">
            {toolName}
          </span>
          <span className={styles["words"]}>
            {words}
            {duration_ms !== null && look !== "interrupted" && ` in ${durationText(duration_ms)}`}
          </span>
        </summary>
        <div className={styles["parts"]}>
          <JsonText label="Input" text={argsText} />
          {result !== undefined && (
            <JsonText label={isError === true ? "Error" : "Result"} text={JSON.stringify(result)} />
          )}
        </div>
      </details>
      {look === "running" && progress !== null && (
        <p className={styles["progress"]} dir="auto">
          {progressText(progress)}
        </p>
      )}
      {action !== null && <ActionCard action={action} onDecided={() => summary.current?.focus()} />}
    </div>
  );
}
