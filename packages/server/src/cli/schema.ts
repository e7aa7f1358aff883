import type { Command } from "commander";
import { type CommandParts, printJson } from "./command.ts";

export function addSchemaCommand(program: Command, parts: CommandParts): void {
  program
    .command("schema")
    .description("print the JSON Schema of the configuration file, including plugin sections")
    .addHelpText(
      "after",
      `
Examples:
  colloquy schema > colloquy.schema.json

Reference the file as "$schema" in the configuration to get validation and completion in editors.`,
    )
    .action(async () => {
      const [{ plugins }, { jsonSchemaOf }] = await Promise.all([
        parts.loadConfig(),
        import("../config/json-schema.ts"),
      ]);
      printJson(parts, jsonSchemaOf(plugins));
    });
}
