import type { ToolCallMessagePartProps } from "@assistant-ui/react";
import type { ToolArtifact } from "@colloquy/react/assistant-ui";
import { Ban, Check, ChevronRight, CircleHelp, LoaderCircle, TriangleAlert } from "../design/icons.tsx";
import { useRef, type ReactNode } from "react";
import { ActionCard } from "../actions/action-card.tsx";
import { classes } from "../design/classes.ts";
import { durationText } from "../design/duration-text.ts";
import { JsonText } from "../design/json-text.tsx";
import { appearanceOf, progressText, type CallAppearance } from "./tool-text.ts";
import styles from "./tool-call.module.css";

const APPEARANCES: Readonly<Record<CallAppearance, { readonly Icon: typeof Check; readonly words: string }>> =
  {
    running: { Icon: LoaderCircle, words: "running" },
    asking: { Icon: CircleHelp, words: "waiting for you" },
    away: { Icon: LoaderCircle, words: "waiting for a page" },
    complete: { Icon: Check, words: "done" },
    failed: { Icon: TriangleAlert, words: "failed" },
    interrupted: { Icon: Ban, words: "stopped" },
    denied: { Icon: Ban, words: "denied" },
    unanswered: { Icon: Ban, words: "denied: not answered in time" },
  };

/** Only calls that ran have a duration. */
const TIMED: ReadonlySet<CallAppearance> = new Set(["complete", "failed"]);

/** A tool call: name and state; opens to input and output. */
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
  const appearance = appearanceOf(status, action, result);
  const { Icon, words } = APPEARANCES[appearance];
  return (
    <div className={styles["call"]}>
      <details className={styles["details"]}>
        <summary ref={summary} className={styles["summary"]}>
          <span className={classes(styles["icon"], styles[appearance])}>
            <Icon size={16} />
          </span>
          <span className={styles["name"]} dir="auto">
            {toolName}
          </span>
          <span className={styles["words"]}>
            {words}
            {duration_ms !== null && TIMED.has(appearance) && ` in ${durationText(duration_ms)}`}
          </span>
          <ChevronRight className={styles["arrow"]} size={16} />
        </summary>
        <div className={styles["parts"]}>
          <JsonText label="Input" text={argsText} />
          {result !== undefined && (
            <JsonText label={isError === true ? "Error" : "Result"} text={JSON.stringify(result)} />
          )}
        </div>
      </details>
      {appearance === "running" && progress !== null && (
        <p className={styles["progress"]} dir="auto">
          {progressText(progress)}
        </p>
      )}
      {action !== null && (
        <ActionCard key={action.id} action={action} onDecided={() => summary.current?.focus()} />
      )}
    </div>
  );
}
