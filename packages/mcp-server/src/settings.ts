import { servedAppsField } from "@colloquy/server/protocol";
import { z } from "zod";

export const Settings = z.strictObject({
  apps: servedAppsField("the MCP server"),
  allowDecisions: z
    .boolean()
    .optional()
    .describe(
      "Adds the tool `decide`, which approves or denies pending calls. Without a person in between, the model of an MCP host approves calls itself. Default: false.",
    ),
});
