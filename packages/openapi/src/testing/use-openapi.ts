// Creates OpenAPI sources from documents and services of a test.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { z } from "zod";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { schemaChecks } from "../../../server/test/schema-checks.ts";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { SecretMissing, type ToolContext } from "@colloquy/engine/internal/core/ports/driven/tool";
import { createOutbound, type Outbound } from "@colloquy/engine/internal/tools/outbound/outbound";
import {
  startTestServer,
  type TestServer,
} from "@colloquy/engine/internal/tools/outbound/testing/test-servers";
import { toolTurn } from "@colloquy/engine/internal/tools/testing/tool-turn";
import type { SourceTool, ToolSource } from "@colloquy/engine/internal/tools/tool-source";
import { pluginToolSource } from "@colloquy/engine/internal/tools/plugin-source";
import { sourceSettings } from "@colloquy/engine/internal/tools/testing/source-settings";
import { OpenApiSource } from "../openapi-source.ts";
import { openapi } from "../plugin.ts";
import { type OpenApiSection, openApiSettings } from "../settings.ts";

interface Line {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface OpenApiTrial {
  readonly clock: ManualClock;
  readonly outbound: Outbound;
  readonly log: Line[];
  /** Creates a source named `pets`. */
  readonly open: (section: z.input<typeof OpenApiSection>) => ToolSource;
  /** Writes a document to a file, with defaults for its required fields. */
  readonly documentWith: (document: JsonObject) => Promise<string>;
  readonly startServer: (answer: Parameters<typeof startTestServer>[1]) => Promise<[TestServer, string]>;
  /** Registers a function to call after the test. */
  readonly closeLater: (close: () => unknown) => void;
}

export function useOpenApi(): OpenApiTrial {
  const log: Line[] = [];
  const opened: Array<() => unknown> = [];
  let clock: ManualClock;
  let outbound: Outbound;
  let folder: string;
  beforeEach(async () => {
    clock = new ManualClock();
    outbound = createOutbound({ clock });
    folder = await mkdtemp(join(tmpdir(), "openapi-"));
    log.length = 0;
  });
  afterEach(async () => {
    await outbound.close();
    await Promise.all(opened.splice(0).map((close) => close()));
    await rm(folder, { recursive: true });
  });
  const closeLater = (close: () => unknown): void => void opened.push(close);
  const write = (fields: object, message: string): void => void log.push({ fields: { ...fields }, message });
  const logger = { debug: write, info: write, warn: write, error: write };
  return {
    get clock() {
      return clock;
    },
    get outbound() {
      return outbound;
    },
    log,
    closeLater,
    open: (section) => {
      const plugin: typeof openapi = {
        ...openapi,
        create: (settings, context) =>
          new OpenApiSource(openApiSettings(settings, "/"), { ...context, random: () => 1 }),
      };
      const { guardedFetch } = outbound;
      const parts = { app: "default", guardedFetch, clock, logger, schemas: schemaChecks.of("default") };
      const source = pluginToolSource(sourceSettings(plugin, "pets", section), parts);
      closeLater(async () => source.close?.());
      return source;
    },
    documentWith: async (document) => {
      const path = join(folder, "document.json");
      const info = { title: "Test", version: "1" };
      await writeFile(path, JSON.stringify({ openapi: "3.1.0", info, paths: {}, ...document }));
      return path;
    },
    startServer: async (answer) => {
      const server = await startTestServer("127.0.0.1", answer);
      closeLater(() => server.stop());
      return [server, `http://127.0.0.1:${server.port}`];
    },
  };
}

const noSecret = (name: string): string => {
  throw new SecretMissing(name);
};

export function list(
  source: ToolSource,
  signal = new AbortController().signal,
): Promise<readonly SourceTool[]> {
  return source.list({ turn: toolTurn(), secret: noSecret }, signal);
}

export function namesOf(tools: readonly SourceTool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

export async function call(
  tool: SourceTool | undefined,
  input: JsonObject,
  of: Partial<ToolContext> = {},
): Promise<unknown> {
  const context = {
    callId: "call-1",
    effect: "unsafe" as const,
    signal: new AbortController().signal,
    turn: toolTurn(),
    progress: () => undefined,
    attach: () => undefined,
  };
  if (tool === undefined) throw new Error("There is no such tool.");
  return tool.execute(input, { ...context, secret: noSecret, ...of });
}

export const named = (tools: readonly SourceTool[], name: string): SourceTool | undefined =>
  tools.find((tool) => tool.name === name);
