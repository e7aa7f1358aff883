// Configures a calculator whose executions tests can count: each appends its call id to the file `runs` next
// to the data directory. While a file `hang` exists there, executions never finish.

import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { defineConfig } from "../../src/config/define-config.ts";

const nextToData = (name: string): string => join(process.env["COLLOQUY_DATA_DIR"] ?? "", "..", name);

export default defineConfig({
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: {
        calculator: {
          description: "Calculates",
          inputSchema: z.object({ expression: z.string() }),
          execute: async (_input: unknown, { toolCallId }: { toolCallId: string }) => {
            // Tests remove the file once they see the run.
            const hangs = existsSync(nextToData("hang"));
            appendFileSync(nextToData("runs"), `${toolCallId}\n`);
            if (hangs) await new Promise(() => undefined);
            return { result: 84 };
          },
        },
      },
      effects: { calculator: "unsafe" },
      approvals: { calculator: "always" },
    },
  },
});
