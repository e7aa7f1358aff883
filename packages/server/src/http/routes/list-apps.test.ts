import { expect, it } from "vitest";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import { defineToolSource, ToolsUnavailable } from "@colloquy/engine/internal/core/plugins/tool-source";
import { z } from "zod";
import { startEdges } from "../testing/edge.ts";

const plugin = defineToolSource({
  name: "weather",
  version: "1.0.0",
  settings: z.strictObject({}),
  create: () => ({
    tools: () => Promise.reject(new ToolsUnavailable("It is away.")),
  }),
});
const source = {
  plugin,
  name: "weather",
  label: "weather",
  setting: "weather",
  directory: "",
  settings: new Hidden({}),
  secrets: new Hidden([]),
};
const edges = await startEdges({ apps: { default: { suggestions: [], tools: { sources: [source] } } } });

it("GET /api/control/apps returns the failing tool sources of an App, as name and problem only", async () => {
  const answer = await edges.testEdge().send("GET", "/api/control/apps");
  expect(answer.json()).toEqual([
    { name: "default", tool_problems: [{ name: "weather", problem: "It is away." }] },
  ]);
});
