// The OpenAI API for conversations. Stateless: all ids and sequence numbers are derived from stored data.

import { defineProtocol, ServedApps } from "@colloquy/server/protocol";
import { chatCompletionRoute } from "./chat-completions.ts";
import { conversationRoutes } from "./conversations.ts";
import { fileRoutes } from "./files.ts";
import { formatError } from "./errors.ts";
import { modelRoutes } from "./models.ts";
import { responseRoutes } from "./responses.ts";
import { unknownModel } from "./route-parts.ts";
import { Settings } from "./settings.ts";

export const openai = defineProtocol({
  name: "openai",
  version: "1.0.0",
  description: "The OpenAI API: responses, conversations, chat completions and models.",
  settings: Settings,
  create({ apps }, context) {
    const served = new ServedApps(apps, context, unknownModel);
    const parts = { context, served };
    return {
      formatError,
      routes(app) {
        if (served.names.size === 0) return;
        modelRoutes(app, parts);
        chatCompletionRoute(app, parts);
        responseRoutes(app, parts);
        conversationRoutes(app, parts);
        fileRoutes(app, parts);
      },
    };
  },
});
