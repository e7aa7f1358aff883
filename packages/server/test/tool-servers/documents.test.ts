// Reads real OpenAPI documents from npm and checks that every provider accepts the resulting tools.

import type { ToolDefinition } from "@colloquy/engine/internal/core/ports/driven/tool";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import { readDocumentFile } from "@colloquy/openapi/internal/document";
import { readTools } from "@colloquy/openapi/internal/openapi-tools";
import { bodyOf, FAMILIES } from "../providers/sent-tools.ts";

const EXAMPLES = findInstalled("programs", "@readme/oas-examples");
const GITHUB = findInstalled("programs", "@octokit/openapi/generated/api.github.com.json");

const paths = EXAMPLES === null ? [] : globSync("3.{0,1}/json/*.json", { cwd: EXAMPLES }).toSorted();

async function toolsOf(path: string, operations: readonly string[] | null = null) {
  const document = await readDocumentFile(path, new AbortController().signal);
  const reasons: string[] = [];
  const settings = { baseURL: "https://api.test", operations, headers: new Hidden({}) };
  const tools = readTools("api", document, settings, {
    outbound: { guardedFetch: () => Promise.reject(new Error("Nothing is called here.")) },
    scrub: (value) => value,
    onOmitted: (operation, reason, extent) => {
      if (extent === "whole") reasons.push(`${operation}: ${reason}`);
    },
  });
  return { tools, reasons };
}

describe.skipIf(EXAMPLES === null).each(paths)("%s", (path) => {
  it("has tools that every provider accepts", async () => {
    const { tools } = await toolsOf(join(EXAMPLES!, path));
    for (const { rig, problems } of FAMILIES)
      expect(
        problems(JSON.parse(await bodyOf(rig, tools as unknown as readonly ToolDefinition[])) as JsonObject),
      ).toEqual([]);
  });
});

describe.skipIf(GITHUB === null)("GitHub's OpenAPI document", () => {
  it("yields tools for its first operations that every provider accepts", async () => {
    const { tools, reasons } = await toolsOf(GITHUB!);
    expect(tools).toHaveLength(128);
    expect(reasons).toEqual([
      expect.stringMatching(/^\*: Only the first 128 of \d{3,4} operations are taken/),
    ]);
    for (const { rig, problems } of FAMILIES)
      expect(
        problems(JSON.parse(await bodyOf(rig, tools as unknown as readonly ToolDefinition[])) as JsonObject),
      ).toEqual([]);
  });

  it("yields tools for the configured operations", async () => {
    const { tools, reasons } = await toolsOf(GITHUB!, ["issues/create", "repos/get"]);
    expect(tools.map(({ name }) => name).toSorted()).toEqual(["issues_create", "repos_get"]);
    expect(reasons).toEqual([]);
  });
});
