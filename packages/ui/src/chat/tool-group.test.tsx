import type { ToolCall } from "@colloquy/client";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { ToolGroup } from "./tool-group.tsx";

type Decision = NonNullable<ToolCall["decision"]>;
type Called = Pick<ToolCall, "status"> & {
  readonly decision?: Pick<Decision, "kind" | "status">;
  readonly hasFile?: true;
};

const FILE = { id: "f", media_type: "text/csv", bytes: 9, sha256: "", name: "rows.csv" };

/** Returns the summary of a group whose calls took 100 ms each, and whether it is open. */
function summaryOf(called: readonly Called[]): readonly [string, boolean] {
  const calls = called.map(({ status, decision }, at): ToolCall => {
    const decided = decision && { ...decision, at: "2026-01-02T03:04:05.000Z", by: "user" as const };
    return { id: `${at}`, name: "t", arguments: {}, status, ...(decided && { decision: decided }) };
  });
  const results = calls.map(({ id }, at) => ({
    call_id: id,
    name: "t",
    output: 1,
    is_error: false,
    duration_ms: 100,
    ...(called[at]?.hasFile && { attachments: [FILE] }),
  }));
  const message = {
    id: "m",
    sender: "agent",
    content: "",
    created_at: "",
    status: "complete",
    tool_calls: calls,
    tool_results: results,
  } as const;
  const html = renderToStaticMarkup(
    <ToolGroup message={{ ...message, tool_results: results }} calls={calls} />,
  );
  const text = /<summary[^]*?<\/summary>/.exec(html)?.[0].replaceAll(/<[^>]*>/g, "") ?? "";
  return [text, /^<details[^>]* open/.test(html)];
}

const done: Called = { status: "complete" };
const approved: Called = { status: "complete", decision: { kind: "approval", status: "approved" } };
const answered: Called = { status: "complete", decision: { kind: "question", status: "approved" } };
const denied: Called = { status: "failed", decision: { kind: "approval", status: "denied" } };

it.each<[string, readonly Called[], readonly [string, boolean]]>([
  ["succeeded", [done, done], ["Used 2 tools, 200 ms", false]],
  ["run", [done, { status: "running" }], ["Using 2 tools", true]],
  ["failed", [done, { status: "failed" }], ["Tried 2 tools", true]],
  ["were stopped", [done, { status: "interrupted" }], ["Used 1 of 2 tools, 100 ms", true]],
  ["were approved or denied", [approved, denied], ["Used 1 of 2 tools, 100 ms", true]],
  // A person's time to answer is no time of a tool.
  ["returned a file", [done, { status: "complete", hasFile: true }], ["Used 2 tools, 200 ms", true]],
  ["were answered", [answered, done], ["Used 2 tools, 100 ms", true]],
])("a group sums up calls that %s", (_name, calls, summary) => {
  expect(summaryOf(calls)).toEqual(summary);
});
