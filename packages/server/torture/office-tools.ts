// The tools of the App `office`: each call appends a line to a file, which no kill takes back.

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineToolSource, type PluginTool } from "@colloquy/engine/tool-source";
import { z } from "zod";

/** Maximum milliseconds before and after the effect of a call, in which its process may be killed. */
const SLOW_MS = 40;

export default defineToolSource({
  name: "office",
  version: "1.0.0",
  description: "Tools that need an approver.",
  settings: z.strictObject({ effects: z.string().describe("File to which the calls append a line.") }),
  create({ effects }) {
    const tools = ["refund", "payout", "loan"].map(
      (name): PluginTool => ({
        name,
        description: `Grants a ${name}`,
        inputSchema: { type: "object", properties: { request: { type: "integer" } }, required: ["request"] },
        effect: "unsafe",
        async execute({ request }: { readonly request: number }) {
          await sleep(Math.random() * SLOW_MS);
          appendFileSync(effects, `${request}\n`);
          await sleep(Math.random() * SLOW_MS);
          return `granted ${request}`;
        },
      }),
    );
    return { tools: async () => tools };
  },
});
