// Reads the plugin sections of an App: fills placeholders, validates settings, and runs the plugin's own checks.

import type { SourceSettings } from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import { isPlainObject } from "../core/json.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import { isToolSource, type ToolSourcePlugin } from "../core/plugins/tool-source.ts";
import { stampOf } from "./file-stamps.ts";
import { fillPlaceholders, refusePlaceholders, type Filling } from "./placeholders.ts";
import { recordOf } from "./schema-parts.ts";

export interface SourceReader extends Filling {
  /** Path of the App's section. */
  readonly path: readonly string[];
  /** Base directory for relative paths. */
  readonly directory: string;
  readonly plugins: readonly Plugin[];
  /** Receives the stamps of files that settings refer to. */
  readonly stamps: Map<string, string>;
}

interface UnvalidatedSource {
  readonly plugin: ToolSourcePlugin;
  /** Prefix of the tool names. */
  readonly name: string;
  /** Path of the settings, relative to the App's section. */
  readonly location: readonly string[];
  /** Settings with placeholders filled in. */
  readonly content: unknown;
  readonly secrets: readonly (readonly [names: string, value: string])[];
}

/** The tool sources of an App. */
export interface AppSources {
  /** All sources, including those with invalid settings. */
  readonly written: readonly Pick<UnvalidatedSource, "name" | "location">[];
  readonly valid: readonly SourceSettings[];
  /** Sections with placeholders filled in, by plugin. */
  readonly filled: Readonly<Record<string, unknown>>;
}

/** Reads the unvalidated section of an App; the schema validates its shape separately. */
export async function readSources(
  section: Readonly<Record<string, unknown>>,
  reader: SourceReader,
): Promise<AppSources> {
  const written = reader.plugins
    .filter(isToolSource)
    .filter(({ name }) => section[name] !== undefined)
    .flatMap((plugin) => writtenOf(plugin, section[plugin.name], reader));
  const valid = await Promise.all(written.map((source) => readSource(source, reader)));
  return {
    written,
    valid: valid.filter((source) => source !== null),
    filled: filledSections(section, written),
  };
}

function writtenOf(
  plugin: ToolSourcePlugin,
  section: unknown,
  reader: SourceReader,
): readonly UnvalidatedSource[] {
  const entries =
    plugin.entries === true ? Object.entries(recordOf(section)) : [[plugin.name, section] as const];
  return entries.map(([name, entry]) => {
    const location = plugin.entries === true ? [plugin.name, name] : [plugin.name];
    const secrets: (readonly [names: string, value: string])[] = [];
    const content = fillTexts(entry, [...reader.path, ...location], (text, path) => {
      const setting = String(path[reader.path.length + location.length]);
      const filled = fillText(text, path, placeholdersOf(plugin, setting), reader);
      // The names of the setting and of its variables tell whether the value is a key.
      if (filled !== text) secrets.push([`${setting} ${text}`, filled]);
      return filled;
    });
    return { plugin, name, location, content, secrets };
  });
}

function placeholdersOf({ placeholders }: ToolSourcePlugin, setting: string): "env" | "secret" | null {
  if (placeholders === undefined) return "env";
  return (Object.hasOwn(placeholders, setting) ? placeholders[setting] : undefined) ?? null;
}

function fillText(
  text: string,
  path: readonly PropertyKey[],
  allowed: "env" | "secret" | null,
  filling: Filling,
): string {
  if (allowed !== null)
    return fillPlaceholders(text, path, allowed === "env" ? { ...filling, slots: null } : filling);
  refusePlaceholders(text, path, filling.findings);
  return text;
}

/** Returns a copy of a value with each string replaced. Keeps class instances and functions as they are. */
export function fillTexts(
  value: unknown,
  path: readonly PropertyKey[],
  replace: (text: string, path: readonly PropertyKey[]) => string,
): unknown {
  if (typeof value === "string") return replace(value, path);
  if (Array.isArray(value)) return value.map((part, index) => fillTexts(part, [...path, index], replace));
  if (typeof value !== "object" || value === null || !isPlainObject(value)) return value;
  const filled = Object.entries(value).map(([key, part]) => [key, fillTexts(part, [...path, key], replace)]);
  return Object.fromEntries(filled);
}

function filledSections(
  section: Readonly<Record<string, unknown>>,
  written: readonly UnvalidatedSource[],
): AppSources["filled"] {
  const filled: Record<string, unknown> = {};
  for (const { plugin, name, content } of written) {
    filled[plugin.name] =
      plugin.entries === true
        ? { ...Object(filled[plugin.name] ?? section[plugin.name]), [name]: content }
        : content;
  }
  return filled;
}

/** Returns `null` if the schema rejects the settings. */
async function readSource(
  { plugin, name, location, content, secrets }: UnvalidatedSource,
  { path, directory, findings, stamps }: SourceReader,
): Promise<SourceSettings | null> {
  const parsed = await plugin.settings.safeParseAsync(content);
  if (!parsed.success) return null;
  const at = (inner: readonly PropertyKey[]): readonly PropertyKey[] => [...path, ...location, ...inner];
  try {
    await plugin.check?.(parsed.data, {
      directory,
      problem: (inner, message) => findings.problem(at(inner), message),
      warn: (inner, message) => findings.warn(at(inner), message),
      file: (file) => void stamps.set(file, stampOf(file)),
    });
  } catch (error) {
    findings.problem(at([]), `cannot be checked: ${error instanceof Error ? error.message : String(error)}`);
  }
  return {
    plugin,
    name,
    label: location.join(" "),
    setting: location.join("."),
    directory,
    settings: new Hidden(parsed.data),
    secrets: new Hidden(secrets),
  };
}
