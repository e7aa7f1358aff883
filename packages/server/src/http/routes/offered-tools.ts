// The schema of a chat's `client_tools`.

import { ClientTool, ClientToolName } from "@colloquy/protocol";
import { z } from "zod";
import { clientSchemaProblem, TOOL_INPUT_RULES } from "../../core/client-schema.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";

const MOST_TOOLS = 16;

const OfferedTool = ClientTool.superRefine(({ inputSchema }, context) => {
  const message = problemOf(inputSchema as JsonObject);
  if (message !== null) context.addIssue({ code: "custom", path: ["inputSchema"], message });
});

const Tools = z
  .record(ClientToolName, OfferedTool, "must be an object of tools by name")
  .refine((tools) => Object.keys(tools).length <= MOST_TOOLS, `must have at most ${MOST_TOOLS} tools`);

/** `client_tools` of a chat. Not a zod record, which would silently drop a tool named `__proto__`. */
export const OfferedTools = z
  .preprocess((tools, context) => {
    if (isJsonObject(tools) && Object.hasOwn(tools, "__proto__"))
      context.addIssue({ code: "custom", message: 'must have no tool "__proto__"' });
    return tools;
  }, Tools)
  .meta({
    description:
      "Tools that the client offers for this message and runs itself, by name, at most 16. The App must allow them, and have no tool of that name. A schema has at most 16 KiB and 16 levels, and no `pattern`, `patternProperties`, `format` and `$ref`.",
  });

/** Returns the problem of a schema, or `null`. */
function problemOf(schema: JsonObject): string | null {
  const broken = clientSchemaProblem(schema, TOOL_INPUT_RULES);
  if (broken !== null) return broken;
  try {
    z.fromJSONSchema(schema, { defaultTarget: "draft-7" });
    return null;
  } catch {
    return "must be a JSON Schema of draft 7";
  }
}
