// A calculator with countable effects: each execution appends its call id to a file beside the data
// directory. While a file `hang` exists beside it, executions do not end.

import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { defineConfig } from "../../src/config/define-config.ts";

const besideData = (name: string): string => join(process.env["COLLOQUY_DATA_DIR"] ?? "", "..", name);

export default defineConfig({
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: {
        calculator: {
          description: "Calculates, and is seen to do so",
          inputSchema: z.object({ expression: z.string() }),
          execute: async (_input: unknown, { toolCallId }: { toolCallId: string }) => {
            appendFileSync(besideData("runs"), `${toolCallId}\n`);
            if (existsSync(besideData("hang"))) await new Promise(() => undefined);
            return { result: 84 };
          },
        },
      },
      effects: { calculator: "unsafe" },
      approvals: { calculator: "always" },
    },
  },
});
