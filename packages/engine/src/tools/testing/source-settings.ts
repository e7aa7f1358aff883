import { z } from "zod";
import type { SourceSettings } from "../../core/app-settings.ts";
import { Hidden } from "../../core/hidden.ts";
import { defineToolSource, type ToolSourcePlugin } from "../../core/plugins/tool-source.ts";

/** Returns source settings for a valid section, as the configuration reader creates them. */
export function sourceSettings(plugin: ToolSourcePlugin, name: string, section: unknown): SourceSettings {
  const settings = plugin.settings.parse(section);
  return {
    plugin,
    name,
    label: `${plugin.name} ${name}`,
    setting: `${plugin.name}.${name}`,
    directory: "/",
    settings: new Hidden(settings),
    secrets: new Hidden([]),
  };
}

/** A plugin without tools whose section has named sources. */
export const namedSources = defineToolSource({
  name: "named",
  version: "1.0.0",
  settings: z.object({}),
  entries: true,
  create: () => ({ tools: () => [] }),
});
