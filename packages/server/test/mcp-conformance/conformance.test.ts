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

const CURRENT = "2026-07-28";
const BEFORE = "2025-11-25";

const APPLYING: ReadonlyArray<readonly [revision: string, scenario: string, checks: readonly string[]]> = [
  [BEFORE, "initialize", ["mcp-client-initialization"]],
  [BEFORE, "tools_call", ["tool-add-numbers"]],
  [BEFORE, "sse-retry", ["client-sse-graceful-reconnect", "client-sse-last-event-id"]],
  [CURRENT, "tools_call", ["tool-add-numbers"]],
  [
    CURRENT,
    "request-metadata",
    ["sep-2575-client-populates-meta", "sep-2575-http-client-sends-version-header"],
  ],
  [CURRENT, "sep-2322-client-request-state", ["sep-2322-client-parallel-isolation"]],
  [CURRENT, "http-standard-headers", ["sep-2243-client-includes-standard-headers"]],
  [
    CURRENT,
    "http-custom-headers",
    ["sep-2243-client-mirrors-designated-params", "sep-2243-client-omit-null"],
  ],
  [
    CURRENT,
    "http-invalid-tool-headers",
    ["sep-2243-client-reject-invalid-tool", "sep-2243-x-mcp-header-unique"],
  ],
  [CURRENT, "json-schema-ref-no-deref", ["sep-2106-no-network-ref-deref"]],
  [CURRENT, "json-schema-2020-12-preservation", ["sep-2106-client-composition-keywords-preserved"]],
];

/** Checks that may fail, and why. */
const EXCLUDED: Readonly<Record<string, string>> = {
  "sep-2322-client-request-state-echoed": "A server cannot ask the user for an input.",
  "sep-2322-client-jsonrpc-id-different": "The same: the client does not repeat the call with an input.",
  "sep-2322-client-no-state-omitted": "The same.",
};

/** Prefixes of scenarios that do not apply, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "auth/": "An operator gives keys by headers; the client asks no authorization server for any.",
  "elicitation-": "A server asks nothing of whoever uses this service, and the client does not offer it.",
  "sep-2640-": "An extension for skills, which the client does not have.",
};

describe.skipIf(SUITE === null)("the conformance suite", () => {
  it("every scenario of the suite is run, or excluded with a reason", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [SUITE!, "list", "--client"]);
    const scenarios = [...stdout.matchAll(/^\s+- (\S+)/gm)].map(([, name = ""]) => name);
    const isLeftOut = (name: string): boolean =>
      Object.keys(LEFT_OUT).some((beginning) => name.startsWith(beginning));
    expect(scenarios.filter((name) => !isLeftOut(name)).toSorted()).toEqual(
      [...new Set(APPLYING.map(([, name]) => name))].toSorted(),
    );
    for (const beginning of Object.keys(LEFT_OUT))
      expect(scenarios.some((name) => name.startsWith(beginning))).toBe(true);
  });

  it.each(APPLYING)(
    "the client of revision %s passes the scenario %s",
    async (revision, scenario, expected) => {
      const output = await mkdtemp(join(tmpdir(), "colloquy-conformance-"));
      try {
        const command = `${process.execPath} ${CLIENT}`;
        const which = ["--scenario", scenario, "--spec-version", revision];
        const options = ["client", "--command", command, ...which, "--output-dir", output];
        // Ends with 1 if a check fails, and the checks say which.
        await promisify(execFile)(process.execPath, [SUITE!, ...options], { cwd: output }).catch(
          () => undefined,
        );
        const [file = ""] = globSync("**/checks.json", { cwd: output });
        const checks = JSON.parse(await readFile(join(output, file), "utf8")) as readonly Check[];
        const failed = checks.filter(({ status }) => status === "FAILURE");
        expect(failed.filter(({ id }) => !Object.hasOwn(EXCLUDED, id))).toEqual([]);
        const passed = checks.filter(({ status }) => status === "SUCCESS").map(({ id }) => id);
        expect(passed).toEqual(expect.arrayContaining([...expected]));
      } finally {
        await rm(output, { recursive: true });
      }
    },
  );
});
