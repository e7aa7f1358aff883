// Plugin commands. Reads the configuration only if no built-in command has the name.

import type { Command } from "commander";
import {
  definePlugin,
  type Plugin,
  type PluginMetadata,
} from "@colloquy/engine/internal/core/plugins/plugin";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import type { CommandParts } from "./command.ts";

/** Services passed to a command beside its arguments. */
export interface CommandContext {
  /** Standard output, for results. */
  readonly output: { write(text: string): void };
  /** Standard error, for diagnostics. */
  readonly errors: { write(text: string): void };
  readonly environment: Environment;
}

export interface CommandDefinition extends PluginMetadata {
  /** Name of the command: `colloquy NAME`. */
  readonly name: string;
  /** Description for the help output. */
  readonly description: string;
  /** Argument syntax, such as `<file> [name]`: required and optional arguments, `[names...]` for several. */
  readonly usage?: string | undefined;
  /** Runs the command. If it throws an Error, its message is printed and the process exits with 1. */
  run(parameters: readonly string[], context: CommandContext): void | Promise<void>;
}

export interface CommandPlugin extends CommandDefinition {
  readonly kind: "colloquy/command";
}

/** Defines a plugin that adds a command to the command line. */
export function defineCommand(definition: CommandDefinition): CommandPlugin {
  return definePlugin("command", definition);
}

function isCommand(plugin: Plugin): plugin is CommandPlugin {
  return plugin.kind === "colloquy/command";
}

/** Adds the commands of configured plugins, unless the name belongs to a built-in command. */
export async function addPluginCommands(
  program: Command,
  parts: CommandParts,
  [name = "-"]: readonly string[],
): Promise<void> {
  if (name.startsWith("-") || name === "help" || program.commands.some((command) => command.name() === name))
    return;
  const { plugins } = await parts.loadConfig();
  const { output, errors, environment } = parts;
  for (const plugin of plugins.filter(isCommand)) {
    const command = program.command(plugin.name).description(plugin.description);
    if (plugin.usage !== undefined) command.arguments(plugin.usage);
    command.action(async () => await plugin.run(command.args, { output, errors, environment }));
  }
}
