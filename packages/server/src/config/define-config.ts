// The module that configuration files import: `import { defineConfig } from "@colloquy/server/config"`.

import type { z } from "zod";
import type {
  BackendOf,
  Immutable,
  ProviderOf,
  SectionsOf,
  TransportOf,
} from "@colloquy/engine/internal/config/section-types";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import type { ProtocolPlugin } from "../http/protocol.ts";
import type { BUNDLED_PLUGINS } from "./bundled-plugins.ts";
import type { configFile } from "./file-schema.ts";

export type { ApprovalRule } from "@colloquy/engine/internal/core/app-settings";
export type { ConfiguredTool, ToolContext } from "@colloquy/engine/internal/config/app-schema";

type Content = z.input<ReturnType<typeof configFile>>;
type App = NonNullable<Content["apps"]>[string];

/** Sections of protocols. */
type ProtocolsOf<Listed> = {
  readonly [Listing in Extract<Listed, ProtocolPlugin> as Listing["name"]]?: Immutable<
    z.input<NonNullable<Listing["settings"]>>
  >;
};

/** A configuration file (docs/configuration.md). Every setting is optional. `Listed` is the union of the plugin types. */
export type ColloquyConfig<Listed = never> = Omit<
  Immutable<Content>,
  "apps" | "backend" | "plugins" | "providers" | "protocols" | "transport"
> & {
  readonly backend?: BackendOf<Listed | (typeof BUNDLED_PLUGINS)[number]> | undefined;
  readonly transport?: TransportOf<Listed | (typeof BUNDLED_PLUGINS)[number]> | undefined;
  readonly protocols?: ProtocolsOf<Listed> | undefined;
  readonly providers?: Readonly<Record<string, ProviderOf<Listed>>> | undefined;
  readonly plugins?: readonly (Listed | string)[] | undefined;
  readonly apps?:
    | Readonly<Record<string, Immutable<App> & SectionsOf<Listed | (typeof BUNDLED_PLUGINS)[number]>>>
    | undefined;
};

/** Returns `config` unchanged. Gives editors type checking and completion, including plugin sections. */
export function defineConfig<Listed extends Plugin = never>(
  config: ColloquyConfig<Listed>,
): ColloquyConfig<Listed> {
  return config;
}
