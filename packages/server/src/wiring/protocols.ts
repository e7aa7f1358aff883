// The protocols of the server: bundled ones and those of the configuration's plugins.

import aiSdk from "@colloquy/ai-sdk";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import { type ConfiguredProtocol, isProtocol } from "../http/protocol.ts";

const BUNDLED = [aiSdk];
const NONE = new Hidden({});

/** `settings` are the parsed sections by name. A plugin with the name of a bundled protocol replaces it. */
export function configuredProtocols(
  plugins: readonly Plugin[],
  settings: Readonly<Record<string, Hidden<unknown>>>,
): readonly ConfiguredProtocol[] {
  const listed = plugins.filter(isProtocol);
  const bundled = BUNDLED.filter(({ name }) => listed.every((plugin) => plugin.name !== name));
  return [...bundled, ...listed].map((plugin) => ({ plugin, settings: settings[plugin.name] ?? NONE }));
}
