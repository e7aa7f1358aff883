// The alert rules of deploy/alerts.yml: their form, when they fire, and that the service exports what they read.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { chat, newSession, send, whenIdle } from "../black-box/client.ts";
import { useService } from "../black-box/server.ts";
import { isWithout } from "../programs.ts";
import { ROOT } from "./dockerfile.ts";

const run = promisify(execFile);
const cwd = join(ROOT, "deploy");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<"summary" | "runbook", string>>;
}
const file = parse(await readFile(join(cwd, "alerts.yml"), "utf8")) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = file.groups.flatMap(({ rules }) => rules);

describe.skipIf(await isWithout("promtool"))("the alert rules in Prometheus", () => {
  it("are valid", async () => {
    const { stdout } = await run("promtool", ["check", "rules", "alerts.yml"], { cwd });
    expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it("fire only for their own problem", async () => {
    const { stdout } = await run("promtool", ["test", "rules", "alerts-test.yml"], { cwd });
    expect(stdout).toContain("SUCCESS");
  });
});

describe("the alert rules", () => {
  const url = useService();

  it("read metrics and labels that /metrics has", async () => {
    const session = newSession();
    await chat(url(), session, "hi");
    await whenIdle(url(), session);
    await send(url(), "GET", "/readyz");
    const { text } = await send(url(), "GET", "/metrics");
    const page = await readFile(join(ROOT, "docs/operations.md"), "utf8");
    const read = rules.flatMap(({ expr }) => [
      ...expr.matchAll(/\b((?:colloquy|nodejs|process)_\w+)(?:\{([^}]*)\})?/g),
    ]);
    expect(read.length).toBeGreaterThanOrEqual(rules.length);
    const missing = read.filter(([, metric = "", selector = ""]) => {
      const series = text.split("\n").filter((line) => line.startsWith(`${metric}{`));
      const row = page.split("\n").find((line) => line.startsWith(`| \`${metric}{`)) ?? "";
      const labels = [...selector.matchAll(/(\w+)=~?"([^"]*)"/g)].filter(([, label]) => label !== "job");
      const isKnown = ([, label, value = ""]: readonly string[]): boolean => {
        const values = series.map((line) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1]);
        // Ends and statuses that this healthy service never had are in the table of metrics, statuses by their form.
        if (row.includes(`\`${value}\``) || (label === "status" && /^[1-5]xx$/.test(value))) return true;
        return values.some((exported) => new RegExp(`^(?:${value})$`).test(exported ?? ""));
      };
      return !text.includes(`\n# TYPE ${metric} `) || !labels.every(isKnown);
    });
    expect(missing.map(([selector]) => selector)).toEqual([]);
  });

  it("state the problem and what to do", () => {
    expect(rules.length).toBeGreaterThan(5);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Colloquy[A-Z]\w+$/);
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(20);
      expect(annotations.runbook).toMatch(/^[A-Z].{40,}\.$/);
    }
  });
});
