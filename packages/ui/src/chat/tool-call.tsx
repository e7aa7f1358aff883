import type { PendingAction, ToolCall as Call, ToolResult } from "@colloquy/client";
import { Ban, Check, ChevronRight, CircleHelp, LoaderCircle, TriangleAlert } from "../design/icons.tsx";
import { use, useRef, type ReactNode } from "react";
import { ActionCard } from "../actions/action-card.tsx";
import { classes } from "../design/classes.ts";
import { durationText } from "../design/duration-text.ts";
import { JsonText } from "../design/json-text.tsx";
import { CallDecision } from "./call-decision.tsx";
import { ResultFilesContext } from "./result-files.ts";
import { appearanceOf, progressText, runTime, type CallAppearance } from "./tool-text.ts";

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

export interface ToolCallProps {
  readonly call: Call;
  /** Result of the call; `null` until it ends. */
  readonly result: ToolResult | null;
  /** The pending action of the call. */
  readonly action: PendingAction | null;
  /** Latest progress of a running call, in the tool's own format; `null` if there is none. */
  readonly progress: unknown;
}

/** A collapsible tool call: its name and state, with input and output inside, and the files of its result below. */
export function ToolCall({ call, result, action, progress }: ToolCallProps): ReactNode {
  const summary = useRef<HTMLElement>(null);
  const { name, title } = call;
  const duration = runTime(call, result);
  const Files = use(ResultFilesContext);
  const files = result?.attachments ?? [];
  const appearance = appearanceOf(call, action);
  const { Icon, words } = APPEARANCES[appearance];
  return (
    <div className="cq cq-tool-call">
      <details className="cq-tool-call-details">
        <summary ref={summary} className="cq-tool-call-summary">
          <span className={classes("cq-tool-call-icon", `cq-tool-call-${appearance}`)}>
            <Icon size={16} />
          </span>
          <span
            className={classes("cq-tool-call-name", title === undefined && "cq-tool-call-code")}
            dir="auto"
          >
            {title ?? name}
          </span>
          <span className="cq-tool-call-words">
            {words}
            {duration !== null && ` in ${durationText(duration)}`}
          </span>
          <ChevronRight className="cq-tool-call-arrow" size={16} />
        </summary>
        <div className="cq-tool-call-parts">
          {title !== undefined && (
            <p className="cq-tool-call-exact">
              Tool <code dir="ltr">{name}</code>
            </p>
          )}
          <JsonText label="Input" text={JSON.stringify(call.arguments)} />
          {result !== null && (
            <JsonText label={result.is_error ? "Error" : "Result"} text={JSON.stringify(result.output)} />
          )}
        </div>
      </details>
      {appearance === "running" && progress !== null && (
        <p className="cq-tool-call-progress" dir="auto">
          {progressText(progress)}
        </p>
      )}
      {Files !== null && files.length > 0 && <Files files={files} />}
      <CallDecision call={call} result={result} />
      {action !== null && (
        <ActionCard key={action.id} action={action} onDecided={() => summary.current?.focus()} />
      )}
    </div>
  );
}
