// Generates the JSON Schema of configuration files, for editors.

import { z } from "zod";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import { configFile } from "./file-schema.ts";

/** Location-independent id of the schema. */
const $id = "urn:colloquy:configuration";

/** Returns the schema of files with these plugins. Omits constraints that JSON Schema cannot express. */
export function jsonSchemaOf(plugins: readonly Plugin[]): object {
  const options = { target: "draft-7", io: "input", unrepresentable: "any" } as const;
  const schema = z.toJSONSchema(configFile(plugins), options);
  return { $schema: schema.$schema, $id, title: "Configuration of Colloquy", ...schema };
}
