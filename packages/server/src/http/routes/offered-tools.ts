// The tools that a chat offers. Their schemas come from anybody: they are small, and hold nothing whose check can take long.

import { ClientTool, ClientToolName } from "@colloquy/protocol";
import { z } from "zod";
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

const MOST_TOOLS = 16;
const MAX_SCHEMA_BYTES = 16 * 1_024;
/** Levels of a schema as JSON; each level of an input takes two. */
const MAX_SCHEMA_DEPTH = 16;

/** Keywords whose values are data, or map names to schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "required"]);
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Regular expressions can take long, and references can lead anywhere. */
const REFUSED: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "format",
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
]);

const OfferedTool = ClientTool.superRefine(({ inputSchema }, context) => {
  const message = problemOf(inputSchema as JsonObject);
  if (message !== null) context.addIssue({ code: "custom", path: ["inputSchema"], message });
});

const Tools = z
  .record(ClientToolName, OfferedTool, "must be an object of tools by name")
  .refine((tools) => Object.keys(tools).length <= MOST_TOOLS, `must have at most ${MOST_TOOLS} tools`);

/** `client_tools` of a chat. zod would leave out a tool `__proto__` without a word. */
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

/** Returns what is wrong with a schema, `null` if nothing is. */
function problemOf(schema: JsonObject): string | null {
  if (isDeeperThan(MAX_SCHEMA_DEPTH, schema)) return `must have at most ${MAX_SCHEMA_DEPTH} levels`;
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return `must have at most ${MAX_SCHEMA_BYTES / 1_024} KiB as JSON`;
  if (schema["type"] !== "object") return 'must have the type "object"';
  const refused = refusedIn(schema);
  if (refused !== null) return `must not have "${refused}"`;
  try {
    z.fromJSONSchema(schema, { defaultTarget: "draft-7" });
    return null;
  } catch {
    return "must be a JSON Schema of draft 7";
  }
}

function refusedIn(schema: JsonValue): string | null {
  if (Array.isArray(schema)) return first(schema, refusedIn);
  if (!isJsonObject(schema)) return null;
  return first(Object.entries(schema), ([key, value]) => {
    if (REFUSED.has(key)) return key;
    if (DATA.has(key)) return null;
    return MAPS.has(key) && isJsonObject(value) ? first(Object.values(value), refusedIn) : refusedIn(value);
  });
}

function first<Item>(items: readonly Item[], find: (item: Item) => string | null): string | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}
