// docs/operations.md lists exactly the metrics that the service exports, with type and labels.

import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chat, newSession, send, whenIdle } from "../black-box/client.ts";
import { findProgram, isWithout } from "../programs.ts";
import { useService } from "../black-box/server.ts";
import { ROOT } from "./dockerfile.ts";

/** A label of histogram buckets. */
const OF_HISTOGRAMS = ["le"];
// A service of its own: others have usually ended turns.
const url = useService({ apps: { default: {} } });

it.skipIf(await isWithout("promtool"))("promtool finds no fault with /metrics", async () => {
  const { text } = await send(url(), "GET", "/metrics");
  const promtool = await findProgram("promtool");
  const { status, stdout, stderr } = spawnSync(String(promtool), ["check", "metrics"], {
    input: text,
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});

it("all counters of turns are there before the first turn", async () => {
  const { text } = await send(url(), "GET", "/metrics");
  for (const end of ["complete", "failed", "stopped", "waiting"])
    expect(text).toContain(`colloquy_turns_ended_total{end="${end}"} `);
  for (const kind of ["input", "output"]) expect(text).toContain(`colloquy_tokens_total{kind="${kind}"} `);
});

it("the table of metrics matches /metrics", async () => {
  const session = newSession();
  await chat(url(), session, "what time is it?");
  await whenIdle(url(), session);
  const { text } = await send(url(), "GET", "/metrics");
  const shown = [...text.matchAll(/^# TYPE (colloquy_\w+) (\w+)$/gm)].map(
    ([, name = "", type]) => `${name}${labelsOf(name, text)} ${type}`,
  );
  const page = await readFile(join(ROOT, "docs/operations.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(colloquy_[^`]+)` \| (\w+) \| .{20,} \|$/gm)];
  expect(rows.map(([, name, type]) => `${name} ${type}`).toSorted()).toEqual(shown.toSorted());
});

/** Returns the labels of a metric in the table's form: `{method,route}`, or nothing. */
function labelsOf(metric: string, text: string): string {
  const series = text.matchAll(new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, "gm"));
  const names = [...series].flatMap(([, labels = ""]) =>
    [...labels.matchAll(/(\w+)="/g)].map(([, name = ""]) => name),
  );
  const own = [...new Set(names)].filter((name) => !OF_HISTOGRAMS.includes(name));
  return own.length === 0 ? "" : `{${own.join(",")}}`;
}
