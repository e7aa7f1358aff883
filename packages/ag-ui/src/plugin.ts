// The AG-UI protocol, version 1.0 (https://docs.ag-ui.com). It is stateless: a thread is a session, a run is a
// request, and ids are derived from stored data, so any node can serve any request.

import { appNotServed, defineProtocol, ServedApps, servedAppsField } from "@colloquy/server/protocol";
import { z } from "zod";
import { formatError } from "./errors.ts";
import { runRoute } from "./route.ts";

const Settings = z.strictObject({ apps: servedAppsField("AG-UI") });

export const agUi = defineProtocol({
  name: "ag-ui",
  version: "1.0.0",
  description: "The AG-UI protocol, for `HttpAgent` and CopilotKit.",
  settings: Settings,
  create({ apps }, context) {
    const served = new ServedApps(apps, context, appNotServed("AG-UI", "ag-ui"));
    return {
      formatError,
      routes(app) {
        if (served.names.size > 0) runRoute(app, context, served);
      },
    };
  },
});
