// The agent API of `@aomi-labs/client` (`/v1/agent`). It is stateless: a page of events is derived from the stored
// conversation, with the same ids in the same order each time, so any node can serve any request.

import { appNotServed, defineProtocol, ServedApps, servedAppsField } from "@colloquy/server/protocol";
import { z } from "zod";
import { chatRoutes } from "./chat-routes.ts";
import { formatError } from "./errors.ts";
import { sessionRoutes } from "./session-routes.ts";

const Settings = z.strictObject({ apps: servedAppsField("the agent API") });

export const aomi = defineProtocol({
  name: "aomi",
  version: "1.0.0",
  description: "The agent API of `@aomi-labs/client`: pages of events, actions and sessions.",
  settings: Settings,
  create({ apps }, context) {
    const served = new ServedApps(apps, context, appNotServed("The agent API", "aomi"));
    const parts = { context, served };
    return {
      formatError,
      routes(app) {
        if (served.names.size === 0) return;
        chatRoutes(app, parts);
        sessionRoutes(app, parts);
      },
    };
  },
});
