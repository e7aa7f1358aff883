import type { Message, PendingAction, ToolCall as Call, ToolResult } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { Check, ChevronRight, LoaderCircle, TriangleAlert } from "../design/icons.tsx";
import { durationText } from "../design/duration-text.ts";
import { appearanceOf, runTime } from "./tool-text.ts";
import { useComponents } from "./components.tsx";

/**
 * Consecutive tool calls. Several calls collapse to one line once all have succeeded, if nobody had to decide and no
 * result has files.
 */
export function ToolGroup({
  message,
  calls,
  actions = [],
  progress = [],
}: {
  readonly message: Message;
  readonly calls: readonly Call[];
  readonly actions?: readonly PendingAction[];
  readonly progress?: readonly unknown[];
}): ReactNode {
  const { ToolCall } = useComponents();
  const state = stateOf(calls);
  // Once the user has opened or closed the group, it no longer changes by itself.
  const [chosen, setChosen] = useState<boolean | null>(null);
  const done = calls.filter(({ status }) => status === "complete").length;
  const isWorthShowing = (call: Call): boolean =>
    call.decision !== undefined || resultOf(message, call)?.attachments !== undefined;
  const isOpen = chosen ?? (done < calls.length || calls.some(isWorthShowing));
  const shown = calls.map((call) => (
    <ToolCall
      key={call.id}
      call={call}
      result={resultOf(message, call)}
      action={actions.find(({ call_id }) => call_id === call.id) ?? null}
      progress={progress[message.tool_calls?.indexOf(call) ?? -1] ?? null}
    />
  ));
  if (calls.length === 1) return shown;
  const { Icon, verb } = STATES[state];
  return (
    <details className="cq-tool-group" open={isOpen}>
      <summary
        className="cq-tool-call-summary"
        onClick={(event) => {
          event.preventDefault();
          setChosen(!isOpen);
        }}
      >
        <span className={`cq-tool-call-icon cq-tool-call-${state}`}>
          <Icon size={16} />
        </span>
        {verb} {state === "complete" && done < calls.length && `${done} of `}
        {calls.length} tools{state === "complete" && durationOf(message, calls)}
        <ChevronRight className="cq-tool-call-arrow" size={16} />
      </summary>
      <div className="cq-tool-group-calls">{shown}</div>
    </details>
  );
}

const STATES = {
  running: { Icon: LoaderCircle, verb: "Using" },
  complete: { Icon: Check, verb: "Used" },
  failed: { Icon: TriangleAlert, verb: "Tried" },
} as const;

function stateOf(calls: readonly Call[]): keyof typeof STATES {
  if (calls.some(({ status }) => status === "running")) return "running";
  return calls.some((call) => appearanceOf(call, null) === "failed") ? "failed" : "complete";
}

function resultOf({ tool_results: results = [] }: Message, { id }: Call): ToolResult | null {
  return results.find(({ call_id }) => call_id === id) ?? null;
}

/** Returns the time that the calls ran as text; empty if none is known. */
function durationOf(message: Message, calls: readonly Call[]): string {
  const times = calls.flatMap((call) => runTime(call, resultOf(message, call)) ?? []);
  return times.length === 0 ? "" : `, ${durationText(times.reduce((sum, time) => sum + time, 0))}`;
}
