// The protocol's conformance suite for clients, over the applicable scenarios.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";

const SUITE = findInstalled("programs", "@modelcontextprotocol/conformance/dist/index.js");
const CLIENT = join(import.meta.dirname, "client.ts");

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly errorMessage?: string;
}

const APPLYING: ReadonlyArray<readonly [scenario: string, checks: readonly string[]]> = [
  ["initialize", ["mcp-client-initialization"]],
  ["tools_call", ["tool-add-numbers"]],
  ["sse-retry", ["client-sse-graceful-reconnect", "client-sse-retry-timing", "client-sse-last-event-id"]],
];

/** Prefixes of scenarios that do not apply, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "auth/": "An operator gives keys by headers; the client asks no authorization server for any.",
  "elicitation-": "A server asks nothing of whoever uses this service, and the client does not offer it.",
};

describe.skipIf(SUITE === null)("the conformance suite", () => {
  it("every scenario of the suite is run, or excluded with a reason", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [SUITE!, "list", "--client"]);
    const scenarios = [...stdout.matchAll(/^\s+- (\S+)/gm)].map(([, name = ""]) => name);
    const isLeftOut = (name: string): boolean =>
      Object.keys(LEFT_OUT).some((beginning) => name.startsWith(beginning));
    expect(scenarios.filter((name) => !isLeftOut(name)).toSorted()).toEqual(
      APPLYING.map(([name]) => name).toSorted(),
    );
    for (const beginning of Object.keys(LEFT_OUT))
      expect(scenarios.some((name) => name.startsWith(beginning))).toBe(true);
  });

  it.each(APPLYING)("the client passes the scenario %s", async (scenario, expected) => {
    const output = await mkdtemp(join(tmpdir(), "colloquy-conformance-"));
    try {
      const command = `${process.execPath} ${CLIENT}`;
      const options = ["client", "--command", command, "--scenario", scenario, "--output-dir", output];
      await promisify(execFile)(process.execPath, [SUITE!, ...options], { cwd: output });
      const [file = ""] = globSync("**/checks.json", { cwd: output });
      const checks = JSON.parse(await readFile(join(output, file), "utf8")) as readonly Check[];
      expect(checks.filter(({ status }) => status === "FAILURE")).toEqual([]);
      const passed = checks.filter(({ status }) => status === "SUCCESS").map(({ id }) => id);
      // The delay of a retry also depends on the machine, and only causes a warning.
      const wanted = expected.filter((id) => id !== "client-sse-retry-timing");
      expect(passed).toEqual(expect.arrayContaining(wanted));
    } finally {
      await rm(output, { recursive: true });
    }
  });
});
