// The sections `backend`, `transport` and `files`: the plugins that store conversations, connect nodes and keep the bytes of
// files, with their settings.

import { z } from "zod";
import { Hidden } from "../core/hidden.ts";
import { suggestion } from "../core/nearest-name.ts";
import {
  type BackendPlugin,
  type Chosen,
  isBackend,
  isTransport,
  type SettingsFindings,
  type TransportPlugin,
} from "../core/plugins/backend.ts";
import { type ChosenFileStore, type FileStorePlugin, isFileStore } from "../core/plugins/file-store.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import { type Filling, fillPlaceholders } from "./placeholders.ts";
import { formatPath } from "./problem.ts";
import { recordOf } from "./schema-parts.ts";
import { fillTexts } from "./sources.ts";

/** Schema of a section: `kind`, and the settings of the plugin with that name. */
export type StorageSection = z.ZodType<{ readonly kind: string }>;

/** Returns the schema of the section `backend`. */
export function backendSection(plugins: readonly Plugin[]): StorageSection {
  return sectionOf(plugins.filter(isBackend));
}

/** Returns the schema of the section `transport`. */
export function transportSection(plugins: readonly Plugin[]): StorageSection {
  return sectionOf(plugins.filter(isTransport));
}

/** Returns the schema of the section `files`. */
export function filesSection(plugins: readonly Plugin[]): StorageSection {
  return sectionOf(plugins.filter(isFileStore));
}

function sectionOf(plugins: readonly (BackendPlugin | TransportPlugin | FileStorePlugin)[]): StorageSection {
  const sections = plugins.map(({ name, settings }) =>
    z.strictObject({ kind: z.literal(name).describe(`\`${name}\`.`), ...settings?.shape }),
  );
  // A union needs at least one option.
  return sections.length === 0 ? z.strictObject({ kind: z.string() }) : z.union(sections);
}

export interface StorageReader extends Filling {
  readonly plugins: readonly Plugin[];
  /** Environment variables that set settings, by path such as `backend.url`. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Reads the unvalidated section `files`, like `readStorage`. */
export function readFilesSection(
  sections: Readonly<Record<string, unknown>>,
  reader: StorageReader,
  otherwise: FileStorePlugin,
) {
  const read = readSection("files", sections["files"], reader.plugins.filter(isFileStore), reader);
  return { ...read, chosen: read.chosen ?? { plugin: otherwise, settings: new Hidden({}) } };
}

/** The configured plugins. */
export interface StorageConfig {
  readonly backend: Chosen<BackendPlugin>;
  /** `null` to use the backend's own transport, or for a single process. */
  readonly transport: Chosen<TransportPlugin> | null;
}

/** The plugins of sections that are absent. */
export interface DefaultStorage {
  readonly backend: BackendPlugin;
  readonly files: FileStorePlugin;
}

/** Reads the unvalidated section `backend`, like `readStorage`. */
export function readBackendSection(
  sections: Readonly<Record<string, unknown>>,
  reader: StorageReader,
  otherwise: BackendPlugin,
) {
  const read = readSection("backend", sections["backend"], reader.plugins.filter(isBackend), reader);
  return { ...read, chosen: read.chosen ?? { plugin: otherwise, settings: new Hidden({}) } };
}

/**
 * Reads the unvalidated sections. The schema validates their shape separately. `filled` contains the sections
 * with placeholders filled in. `otherwise` contains the plugins for absent and invalid sections.
 */
export function readStorage(
  sections: Readonly<Record<string, unknown>>,
  reader: StorageReader,
  otherwise: DefaultStorage,
): StorageConfig & {
  readonly files: ChosenFileStore;
  readonly filled: Readonly<Record<string, unknown>>;
} {
  const backend = readBackendSection(sections, reader, otherwise.backend);
  const files = readFilesSection(sections, reader, otherwise.files);
  const transport = readSection(
    "transport",
    sections["transport"],
    reader.plugins.filter(isTransport),
    reader,
  );
  const { nodes, name } = backend.chosen.plugin;
  if (transport.chosen !== null && nodes === undefined && backend.isValid)
    reader.findings.problem(
      ["transport"],
      `connects nodes that share a store, but the backend "${name}" cannot be shared. Configure another backend too, or remove this.`,
    );
  if (sections["transport"] === undefined && nodes !== undefined && nodes.transport === undefined)
    reader.findings.problem(
      ["transport"],
      `is missing: the backend "${name}" carries no notifications between nodes. Name a transport.`,
    );
  return {
    backend: backend.chosen,
    transport: transport.chosen,
    files: files.chosen,
    filled: { ...backend.filled, ...transport.filled, ...files.filled },
  };
}

/** Names of the plugins of a section in messages. */
const NOUNS = { backend: "backend", transport: "transport", files: "file store" } as const;

function readSection<Kind extends BackendPlugin | TransportPlugin | FileStorePlugin>(
  section: keyof typeof NOUNS,
  content: unknown,
  plugins: readonly Kind[],
  reader: StorageReader,
): {
  readonly chosen: Chosen<Kind> | null;
  readonly isValid: boolean;
  readonly filled: Readonly<Record<string, unknown>>;
} {
  if (content === undefined) return { chosen: null, isValid: true, filled: {} };
  const { kind } = recordOf(content);
  const names = plugins.map(({ name }) => name);
  const plugin = plugins.find(({ name }) => name === kind);
  if (plugin === undefined) {
    if (typeof kind === "string")
      reader.findings.problem(
        [section, "kind"],
        `"${kind.slice(0, 80)}" is not a ${NOUNS[section]}.${suggestion(kind, names)} A ${NOUNS[section]} of a package must be listed in "plugins".`,
      );
    // An unknown `kind` is reported above, any other problem with it by the schema. Its settings cannot be
    // checked.
    return { chosen: null, isValid: false, filled: typeof kind === "string" ? { [section]: undefined } : {} };
  }
  const written = fillTexts(content, [section], (text, path) => fillPlaceholders(text, path, reader));
  const { kind: _, ...own } = recordOf(written);
  const filled = { [section]: written };
  const parsed = (plugin.settings ?? z.strictObject({})).safeParse(own);
  if (!parsed.success) return { chosen: null, isValid: false, filled };
  const findings: SettingsFindings = {
    environment: reader.environment,
    nameOf: (setting) => reader.variables?.[`${section}.${setting}`] ?? formatPath([section, setting]),
    warn: (message) => void reader.findings.warnings.push(message),
  };
  plugin.check?.(parsed.data, findings);
  return { chosen: { plugin, settings: new Hidden(parsed.data) }, isValid: true, filled };
}
