// Captures the request bodies that the real provider packages send for tools.

import { vi } from "vitest";
import type { ToolDefinition } from "@colloquy/engine/internal/core/ports/driven/tool";
import { createModelCatalog } from "@colloquy/engine/internal/models/catalog";
import { ModelCaller } from "@colloquy/engine/internal/turns/model-step";
import { ManualClock } from "../manual-clock.ts";
import {
  anthropicToolProblems,
  compatibleToolProblems,
  googleToolProblems,
  openaiToolProblems,
} from "./tool-rules.ts";

/** A model and the tool rules of each provider family. */
export const FAMILIES = [
  { rig: "openai/gpt-5", problems: openaiToolProblems },
  { rig: "anthropic/claude-sonnet-4-5", problems: anthropicToolProblems },
  { rig: "google/gemini-3-pro", problems: googleToolProblems },
  { rig: "local/llama3.2", problems: compatibleToolProblems },
] as const;

const catalog = createModelCatalog({
  clock: new ManualClock(Date.UTC(2026, 0, 1)),
  extraModels: {},
  providers: {
    openai: { kind: "openai", apiKey: "k" },
    anthropic: { kind: "anthropic", apiKey: "k" },
    google: { kind: "google", apiKey: "k" },
    local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1" },
  },
});
/** Captured bodies. Shared, because the packages keep the `fetch` of their first use. */
const bodies: string[] = [];

/** Returns the request body that the provider package sends for the tools. Stubs `fetch` during the call. */
export async function bodyOf(rig: string, tools: readonly ToolDefinition[]): Promise<string> {
  vi.stubGlobal("fetch", async (_url: unknown, { body }: { readonly body: string }) => {
    bodies.push(body);
    return Response.json({ error: { message: "not answered" } }, { status: 400 });
  });
  const caller = new ModelCaller();
  try {
    const step = await caller.call({
      model: await catalog.resolve(rig),
      instructions: "",
      messages: [{ role: "user", content: "Hello" }],
      tools: caller.offer(tools, catalog.toolRules(rig)).definitions,
      usedCallIds: [],
      argumentBytes: 0,
      signal: new AbortController().signal,
      onText: () => undefined,
      onProgress: () => undefined,
    });
    if (step.kind !== "failed") throw new Error(`Expected the call to fail, but it is ${step.kind}.`);
    const body = bodies.pop();
    if (body === undefined) throw step.error;
    return body;
  } finally {
    vi.unstubAllGlobals();
  }
}
