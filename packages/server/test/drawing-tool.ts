// A tool that returns files, for tests of protocols.

import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import type { OwnTool } from "@colloquy/engine/internal/core/app-settings";
import type { ToolContext } from "@colloquy/engine/internal/core/ports/driven/tool";
import { jsonSchema } from "ai";
import type { Config } from "../src/config/config.ts";

interface Input {
  /** Number of images; 1 if absent. */
  readonly charts?: number;
  /** Bytes to append to each image. */
  readonly padding?: number;
}

/** Returns `charts` images and a table. */
export const draw: OwnTool = {
  description: "Draws charts",
  inputSchema: jsonSchema({
    type: "object",
    properties: { charts: { type: "integer" }, padding: { type: "integer" } },
  }),
  execute: ({ charts = 1, padding = 0 }: Input, { context }: { readonly context: ToolContext }) => {
    for (let index = 0; index < charts; index += 1)
      context.attach({
        data: Buffer.concat([FILES.png, Buffer.alloc(padding)]),
        mediaType: "image/png",
        name: `chart-${index}.png`,
      });
    context.attach({ data: FILES.text, mediaType: "text/csv", name: "cups.csv" });
    return { charts };
  },
};

/** Adds the tool to the default App and the App `shop`. */
export function withDrawing(config: Config): Config {
  const adjusted = ["default", "shop"].map((name) => {
    const app = config.apps[name]!;
    return [name, { ...app, tools: { ...app.tools, own: { ...app.tools.own, draw } } }] as const;
  });
  return { ...config, apps: { ...config.apps, ...Object.fromEntries(adjusted) } };
}
