// Metadata common to all plugins: kind, name, version and requirements.

/** A plugin, created by a `define…` function. Each kind has further members. */
export interface Plugin {
  /** `colloquy/KIND`. A string, so that plugins built with another installed copy of this package are recognized. */
  readonly kind: `colloquy/${string}`;
  /** Unique within the kind. */
  readonly name: string;
  /** Plugin version, such as `1.2.3`. */
  readonly version: string;
  readonly needs?: PluginNeeds | undefined;
}

export interface PluginNeeds {
  /** Minimum version of Colloquy, such as `0.2.0`. */
  readonly colloquy?: string | undefined;
  /** Names of required plugins. */
  readonly plugins?: readonly string[] | undefined;
}

/** Metadata accepted by every `define…` function. */
export type PluginMetadata = Omit<Plugin, "kind">;

const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,31}$/;
const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;

/** Returns true for a plugin of any kind and version. Does not validate its metadata. */
export function isPlugin(value: unknown): value is Plugin {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, version } = value as Readonly<Partial<Record<keyof Plugin, unknown>>>;
  return (
    typeof kind === "string" &&
    kind.startsWith("colloquy/") &&
    typeof name === "string" &&
    typeof version === "string"
  );
}

/** Returns the problem with a plugin's metadata, as a sentence; `null` if it is valid. */
export function metadataProblem({ name, version, needs }: PluginMetadata): string | null {
  if (!NAME.test(name))
    return `The name of the plugin "${name.slice(0, 80)}" must have 1 to 32 letters, digits, _ and -, and begin with a letter.`;
  if (!VERSION.test(version)) return `The version of the plugin "${name}" must be like 1.2.3.`;
  if (needs?.colloquy !== undefined && !VERSION.test(needs.colloquy))
    return `needs.colloquy of the plugin "${name}" must be the oldest version that it works with, like 0.2.0.`;
  return null;
}

/** Returns true if `version` is at least `least`. Ignores pre-release tags. */
export function isAtLeast(version: string, least: string): boolean {
  const [actual, minimum] = [version, least].map((text) => VERSION.exec(text)?.slice(1, 4).map(Number) ?? []);
  for (const [index, number] of (minimum ?? []).entries()) {
    const difference = (actual?.[index] ?? 0) - number;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Adds the kind. Throws a TypeError for invalid metadata, so that the author sees it when the module loads. */
export function definePlugin<const Kind extends string, Definition extends PluginMetadata>(
  kind: Kind,
  definition: Definition,
): Definition & { readonly kind: `colloquy/${Kind}` } {
  const problem = metadataProblem(definition);
  if (problem !== null) throw new TypeError(problem);
  return { ...definition, kind: `colloquy/${kind}` };
}
