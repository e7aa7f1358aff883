// Describes which settings differ between two configurations, by their names in the file.

import type { AppSettings } from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import type { Config } from "./config.ts";
import type { FileStamps } from "./file-stamps.ts";

type Settings = Readonly<Record<string, unknown>>;

/** Sources of tools whose entries are listed by name. */
const BY_NAME = ["mcp", "openapi", "clientTools", "effects", "approvals"];

interface Loaded {
  readonly config: Config;
  readonly files: FileStamps;
}

/**
 * Returns a sentence for each App, provider and setting that was added, removed or changed, and for each
 * OpenAPI document whose file was. Never contains a value.
 */
export function describeChanges(before: Loaded, after: Loaded): readonly string[] {
  const apps = namesOf(before.config.apps, after.config.apps).flatMap((name) => {
    const [old, next] = [before.config.apps[name], after.config.apps[name]];
    if (old === undefined || next === undefined) return [presence(`apps.${name}`, old)];
    return differences(
      `apps.${name}`,
      { ...flatSettings(old), ...documentsOf(old, before.files) },
      { ...flatSettings(next), ...documentsOf(next, after.files) },
    );
  });
  return [...apps, ...differences("providers", providersOf(before.config), providersOf(after.config))];
}

/** Returns the stamps of an App's document files under the names of the settings that refer to them. */
function documentsOf({ tools: { openapi } }: AppSettings, files: FileStamps): Settings {
  const stamps = Object.entries(openapi).flatMap(([name, { document }]) => {
    const stamp = files.get(document);
    return stamp === undefined ? [] : [[`openapi.${name}.document`, stamp]];
  });
  return Object.fromEntries(stamps) as Settings;
}

/**
 * Returns the settings of an App under their names in the file, such as `models`, `tools.forecast` and
 * `mcp.maps`.
 */
function flatSettings({ tools, ...app }: AppSettings): Settings {
  // `isUnconfigured` is derived, not a setting of the file.
  const { builtIn, own, client, allowsClientTools = false, isUnconfigured: _, ...others } = tools;
  const flat: Record<string, unknown> = { ...app, tools: builtIn, allowClientTools: allowsClientTools };
  for (const [name, tool] of Object.entries(own)) flat[`tools.${name}`] = tool;
  for (const [source, settings] of Object.entries({ ...others, clientTools: client })) {
    if (!BY_NAME.includes(source)) flat[source] = settings;
    else for (const [name, entry] of Object.entries(settings ?? {})) flat[`${source}.${name}`] = entry;
  }
  return flat;
}

function providersOf({ providers, secrets }: Config): Settings {
  const complete = Object.entries(providers).map(([name, config]) => [
    name,
    { config, secrets: secrets.reveal()[name] },
  ]);
  return Object.fromEntries(complete) as Settings;
}

function differences(path: string, before: Settings, after: Settings): readonly string[] {
  return namesOf(before, after).flatMap((name) => {
    const [old, next] = [before[name], after[name]];
    if (fingerprint(old) === fingerprint(next)) return [];
    const setting = `${path}.${name}`;
    return [old === undefined || next === undefined ? presence(setting, old) : `${setting} has changed.`];
  });
}

function presence(setting: string, before: unknown): string {
  return before === undefined ? `${setting} is new.` : `${setting} is gone.`;
}

function namesOf(before: object, after: object): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

/**
 * Returns a text that changes with the value. For comparison only, because it contains secrets. Functions are
 * compared by their source.
 */
function fingerprint(value: unknown): string | undefined {
  const seen = new Set<unknown>();
  return JSON.stringify(value, function (this: Settings, key, part: unknown) {
    const original = this[key];
    if (original instanceof Hidden) return original.reveal() as unknown;
    if (typeof part === "function") return String(part);
    if (typeof part === "bigint") return String(part);
    // A schema may refer to itself.
    if (typeof part !== "object" || part === null) return part;
    if (seen.has(part)) return "again";
    seen.add(part);
    return part;
  });
}
