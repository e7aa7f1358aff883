// npm run quirks [-- --port 4010]
//
// Starts a mock model provider for testing front ends. Each of its models reproduces one provider quirk.

import { parseArguments } from "../../torture/harness/arguments.ts";
import { startQuirkProvider } from "./quirk-provider.ts";
import { CHAT_QUIRKS } from "./quirks.ts";

const { port } = parseArguments(process.argv.slice(2), { port: 4010 });
const provider = await startQuirkProvider(port);
const names = CHAT_QUIRKS.map(({ name }) => name);
const models = names.map((name) => `quirks/${name}`);
process.stdout.write(`${names.length} quirks at ${provider.url}. Save this as colloquy.config.mjs, start the service, and select
a quirk as the model of a conversation. Many of them call the tool weather:

import { tool } from "ai";
import { z } from "zod";

export default {
  providers: { quirks: { kind: "openai-compatible", baseURL: "${provider.url}/v1" } },
  apps: {
    default: {
      models: ${JSON.stringify(models, null, 2).replaceAll("\n", "\n      ")},
      utilityModel: "demo/assistant",
      tools: {
        weather: tool({
          description: "Returns the weather of a city",
          inputSchema: z.object({ city: z.string() }),
          execute: ({ city }) => \`It is sunny in \${city}.\`,
        }),
      },
      effects: { weather: "read" },
      approvals: { weather: "never" },
    },
  },
};

The same models are available at /responses, /messages and /models/NAME:streamGenerateContent. The error for an unknown name lists them.
`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void provider.stop());
