import type { ToolCall, ToolResult } from "@colloquy/client";
import type { ReactNode } from "react";
import { timeText } from "../design/time-text.ts";

type Decision = NonNullable<ToolCall["decision"]>;

const DONE: Readonly<Record<Decision["status"], string>> = {
  approved: "Approved",
  denied: "Denied",
  expired: "Not answered in time",
};

/** Texts by author of a decision. */
const BY: Readonly<Record<NonNullable<Decision["by"]>, string>> = {
  user: "by you",
  operator: "by an operator",
  approver: "by an approver",
};

/** Shows a call's question, if any, and its decision with author and time. Renders nothing without a decision. */
export function CallDecision({
  call: { decision, arguments: input },
  result,
}: {
  readonly call: ToolCall;
  readonly result: ToolResult | null;
}): ReactNode {
  if (decision === undefined) return null;
  const { kind, status, by, at, name, comment } = decision;
  // The client ran the call without a decision by a person.
  if (kind === "client_tool" && status !== "denied") return null;
  const date = new Date(at);
  const isAnswered = kind === "question" && status === "approved";
  return (
    <div className="cq-tool-call-decision">
      {kind === "question" && <p dir="auto">{memberText(input, "question")}</p>}
      {isAnswered && (
        <p className="cq-tool-call-answer" dir="auto">
          {memberText(result?.output, "answer")}
        </p>
      )}
      <p>
        {isAnswered ? "Answered" : DONE[status]}
        {by !== null && (name === undefined ? ` ${BY[by]}` : ` by ${name}`)},{" "}
        <time dateTime={at} title={date.toLocaleString()}>
          {timeText(date, new Date())}
        </time>
      </p>
      {comment !== undefined && <p dir="auto">{comment}</p>}
    </div>
  );
}

/** Returns a string member of an object; "" if it is absent or not a string. */
function memberText(value: unknown, name: string): string {
  const member: unknown = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return typeof member === "string" ? member : "";
}
