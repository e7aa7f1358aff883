// Starts real MCP servers from npm and checks that every provider accepts their tools.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { mcpTools, stdioServer, type McpTools } from "@colloquy/mcp/internal/testing/opened-mcp";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { bodyOf, FAMILIES } from "../providers/sent-tools.ts";

interface RealServer {
  readonly file: string;
  readonly tools: number;
  readonly arguments?: (directory: string) => readonly string[];
  /** Dummy keys; the tests call no tool that needs a key. */
  readonly environment?: Readonly<Record<string, string>>;
}

const NOWHERE = "http://127.0.0.1:1";
const SERVERS: Readonly<Record<string, RealServer>> = {
  everything: {
    file: "@modelcontextprotocol/server-everything/dist/index.js",
    tools: 12,
    arguments: () => ["stdio"],
  },
  filesystem: {
    file: "@modelcontextprotocol/server-filesystem/dist/index.js",
    tools: 10,
    arguments: (directory) => [directory],
  },
  memory: { file: "@modelcontextprotocol/server-memory/dist/index.js", tools: 9 },
  thinking: { file: "@modelcontextprotocol/server-sequential-thinking/dist/index.js", tools: 1 },
  notion: {
    file: "@notionhq/notion-mcp-server/bin/cli.mjs",
    tools: 20,
    environment: { NOTION_TOKEN: "none" },
  },
  gitlab: {
    file: "@zereight/mcp-gitlab/build/index.js",
    tools: 100,
    environment: { GITLAB_PERSONAL_ACCESS_TOKEN: "none", GITLAB_API_URL: NOWHERE },
  },
  tavily: { file: "tavily-mcp/build/index.js", tools: 5, environment: { TAVILY_API_KEY: "none" } },
  airtable: {
    file: "airtable-mcp-server/dist/main.js",
    tools: 15,
    environment: { AIRTABLE_API_KEY: "none" },
  },
  figma: {
    file: "figma-developer-mcp/dist/bin.js",
    tools: 2,
    arguments: () => ["--stdio"],
    environment: { FIGMA_API_KEY: "none" },
  },
  hubspot: {
    file: "@hubspot/mcp-server/dist/index.js",
    tools: 20,
    environment: { PRIVATE_APP_ACCESS_TOKEN: "none" },
  },
};

/** Logged if a server lists its tools too late for the first turn. */
const LATE = "a tool source fails: its tools are unavailable";

const installed = Object.entries(SERVERS).flatMap(([name, server]) => {
  const file = findInstalled("programs", server.file);
  return file === null ? [] : [[name, { ...server, file }] as const];
});

it.skipIf(installed.length === 0)("finds all servers installed", () => {
  expect(installed).toHaveLength(Object.keys(SERVERS).length);
});

describe.skipIf(installed.length === 0).each(installed)("%s", (name, server) => {
  let directory: string;
  let tools: McpTools;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-servers-"));
    const command = [server.file, ...(server.arguments?.(directory) ?? [])];
    const environment = { MEMORY_FILE_PATH: join(directory, "memory.json"), ...server.environment };
    const settings = stdioServer(process.execPath, command, environment);
    tools = mcpTools({ [name]: settings }, { clock: createSystemClock() });
    // A slow server may take longer to start than a turn waits.
    while ((await tools.open()).definitions.some(({ name: tool }) => tool === `${name}_unavailable`))
      await sleep(100);
  });
  afterAll(async () => {
    await tools.toolset.close();
    await rm(directory, { recursive: true });
  });

  it("lists all its tools", async () => {
    expect((await tools.open()).definitions.length).toBeGreaterThanOrEqual(server.tools);
    expect(tools.toolset.sources("default")).toMatchObject([{ state: "working", problem: null }]);
    expect(tools.logger.lines.filter(({ level, message }) => level === "warn" && message !== LATE)).toEqual(
      [],
    );
  });

  it.each(FAMILIES)("has tools that $rig accepts", async ({ rig, problems }) => {
    const { definitions } = await tools.open();
    const body = JSON.parse(await bodyOf(rig, definitions)) as JsonObject;
    expect(problems(body)).toEqual([]);
    expect(JSON.stringify(body)).toContain(definitions.at(-1)!.name);
  });
});
