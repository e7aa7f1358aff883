// Validates the plugins of a configuration.

import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { isAtLeast, isPlugin, metadataProblem, type Plugin } from "../core/plugins/plugin.ts";
import { AppSection } from "./app-schema.ts";
import { PROVIDER_KINDS } from "./sections.ts";

/** An unvalidated plugin and its origin. */
export interface PluginCandidate {
  readonly value: unknown;
  /** Path in the configuration. */
  readonly path: readonly PropertyKey[];
  /** Package that exports the plugin; absent for plugin objects. */
  readonly from?: string;
}

/** Returns the bundled plugins, followed by the valid candidates. Reports the invalid ones. */
export function checkPlugins(
  bundled: readonly Plugin[],
  candidates: readonly PluginCandidate[],
  report: (path: readonly PropertyKey[], message: string) => void,
): readonly Plugin[] {
  const plugins = [...bundled];
  for (const { value, path, from } of candidates) {
    if (!isPlugin(value)) {
      const subject =
        from === undefined ? "is not a plugin" : `the default export of "${from}" is not a plugin`;
      report(path, `${subject}. Make it with defineToolSource or another define… function.`);
      continue;
    }
    const problem = problemOf(value, plugins);
    if (problem === null) plugins.push(value);
    else report(path, problem);
  }
  for (const [index, { name, needs }] of plugins.entries()) {
    for (const needed of needs?.plugins ?? []) {
      if (plugins.some((plugin) => plugin.name === needed)) continue;
      const { path = ["plugins"] } = candidates[index - bundled.length] ?? {};
      report(path, `The plugin "${name}" needs the plugin "${needed}", which is not listed. Add it.`);
    }
  }
  return plugins;
}

/** Plugin kinds that this version supports. */
export const KINDS: readonly string[] = [
  "colloquy/tool-source",
  "colloquy/model-provider",
  "colloquy/command",
  "colloquy/backend",
  "colloquy/transport",
  "colloquy/file-store",
  "colloquy/protocol",
];

/** Members that a plugin may lack if it was not made by a `define…` function. */
type PluginMembers = Plugin & Readonly<Partial<Record<"settings" | "create" | "run" | "open", unknown>>>;

function problemOf(plugin: Plugin, others: readonly Plugin[]): string | null {
  const { kind, name, needs } = plugin;
  const problem = metadataProblem(plugin);
  if (problem !== null) return problem;
  const minimum = needs?.colloquy ?? manifest.version;
  if (!isAtLeast(manifest.version, minimum))
    return `The plugin "${name}" needs Colloquy ${minimum} or later, and this is ${manifest.version}. Update Colloquy.`;
  if (!KINDS.includes(kind))
    return `The plugin "${name}" has a kind that Colloquy ${manifest.version} does not support. Update Colloquy.`;
  if (others.some((other) => other.kind === kind && other.name === name))
    return `"${name}" is the name of two plugins. Remove one.`;
  const { settings, create, run, open } = plugin as PluginMembers;
  if (typeof (create ?? run ?? open) !== "function")
    return `The plugin "${name}" is incomplete. Make it with a define… function.`;
  const requiresSettings = kind === "colloquy/tool-source";
  if ((requiresSettings || settings !== undefined) && !(settings instanceof z.ZodType))
    return `The settings of the plugin "${name}" are not a schema of zod 4. Its author must install zod 4.`;
  if (kind === "colloquy/tool-source" && Object.hasOwn(AppSection.shape, name))
    return `The plugin "${name}" has the name of a setting of Apps. Its author must choose another one.`;
  if (kind === "colloquy/model-provider" && PROVIDER_KINDS.some((known) => known === name))
    return `The plugin "${name}" has the name of a built-in kind of provider. Its author must choose another one.`;
  return null;
}
