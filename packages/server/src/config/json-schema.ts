// Generates the JSON Schema of the configuration file, for editors, from the zod schema and the descriptions in
// define-config.ts. The output is `packages/server/colloquy.schema.json`; the test says how to update it.

import { z } from "zod";
import { ApprovalValue, ToolValue } from "./app-schema.ts";
import { ConfigFile } from "./file-schema.ts";

type Node = z.core.JSONSchema.BaseSchema;

/** Identifies the schema independently of where a copy is stored. */
const ID = "urn:colloquy:configuration";

/** JSON forms of settings that may be functions or class instances in a module. */
const IN_JSON = new Map<unknown, Node>([
  [ToolValue, { const: true }],
  [ApprovalValue, { enum: ["always", "never"] }],
]);

/** Returns the schema as file content. `source` is the text of define-config.ts. Throws if a setting has no description there. */
export function renderJsonSchema(source: string): string {
  const schema = z.toJSONSchema(ConfigFile, {
    target: "draft-7",
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => void Object.assign(jsonSchema, IN_JSON.get(zodSchema)),
  });
  describe(schema, "ColloquyConfig", readDescriptions(source));
  const title = "Configuration of Colloquy";
  const text = JSON.stringify({ $schema: schema.$schema, $id: ID, title, ...schema }, null, 2);
  // Put lists of words on one line, as the formatter of the repository does.
  const words = /\[\n\s+("[^"]*"(?:,\n\s+"[^"]*")*)\n\s+\]/g;
  return `${text.replaceAll(words, (_, list: string) => `[${list.replaceAll(/\n\s+/g, " ")}]`)}\n`;
}

interface Setting {
  readonly description: string;
  /** Source text of its type. */
  readonly type: string;
}

type Descriptions = ReadonlyMap<string, ReadonlyMap<string, Setting>>;

function readDescriptions(source: string): Descriptions {
  const interfaces = source.matchAll(/^export interface (\w+) \{\n(.*?)^\}/gms);
  return new Map(
    [...interfaces].map(([, name = "", body = ""]) => {
      const settings = body.matchAll(/\/\*\* (.*?) \*\/\s+readonly (\$?\w+)\??: ([^;]+);/gs);
      return [
        name,
        new Map(
          [...settings].map(([, description = "", key = "", type = ""]) => [key, { description, type }]),
        ),
      ];
    }),
  );
}

/** Adds descriptions to all properties below `node`. `type` is the node's type in define-config.ts. */
function describe(node: Node, type: string, descriptions: Descriptions): void {
  for (const form of node.anyOf ?? []) describe(form, type, descriptions);
  const names = [...type.matchAll(/\b[A-Z]\w+/g)].map(([name]) => name);
  const known = names.map((name) => descriptions.get(name) ?? new Map<string, Setting>());
  for (const [key, part] of Object.entries(node.properties ?? {})) {
    const setting = known.find((settings) => settings.has(key))?.get(key);
    if (setting === undefined) throw new Error(`define-config.ts does not describe "${key}" of ${type}`);
    Object.assign(part, { description: setting.description });
    describe(part as Node, setting.type, descriptions);
  }
  for (const inner of [node.additionalProperties, node.items].flat()) {
    if (typeof inner === "object") describe(inner, type, descriptions);
  }
}
