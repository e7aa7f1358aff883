// The module that configuration files import: `import { defineConfig } from "@colloquy/server/config"`.

import type { z } from "zod";
import type { ConfiguredTool } from "./app-schema.ts";
import type { ConfigFile } from "./file-schema.ts";

export type { ApprovalRule } from "../core/app-settings.ts";
export type { ConfiguredTool, ToolContext } from "./app-schema.ts";

/** Accepts constants: `as const` makes objects and lists read-only. */
type Immutable<Value> = Value extends ConfiguredTool | ((...input: never) => unknown)
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value;

/** A configuration file. Every setting is optional; docs/configuration.md explains them. */
export type ColloquyConfig = Immutable<z.input<typeof ConfigFile>>;

/** Returns `config` unchanged. It exists to give editors type checking and completion. */
export function defineConfig(config: ColloquyConfig): ColloquyConfig {
  return config;
}
