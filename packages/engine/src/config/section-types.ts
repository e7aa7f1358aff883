// Input types of plugin sections, for configuration modules and embedding programs.

import type { z } from "zod";
import type { Plugin } from "../core/plugins/plugin.ts";
import type { BackendPlugin, TransportPlugin } from "../core/plugins/backend.ts";
import type { FileStorePlugin } from "../core/plugins/file-store.ts";
import type { ToolSourcePlugin } from "../core/plugins/tool-source.ts";
import type { ModelProviderPlugin } from "../core/plugins/model-provider.ts";
import type { ConfiguredTool } from "./app-schema.ts";
import type { ProviderSection } from "./sections.ts";

/** Makes a type deeply read-only, so that `as const` values are accepted. */
export type Immutable<Value> = Value extends ConfiguredTool | Plugin | ((...input: never) => unknown)
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value;

/** The section of a plugin: its settings, or named settings if it has `entries`. */
type SectionOf<Source> =
  Source extends ToolSourcePlugin<string, infer Settings, infer Entries>
    ? true extends Entries
      ? Readonly<Record<string, z.input<Settings>>>
      : z.input<Settings>
    : never;

/** Plugin sections of an App. */
export type SectionsOf<Listed> = {
  readonly [Source in Extract<Listed, ToolSourcePlugin> as Source["name"]]?: Immutable<SectionOf<Source>>;
};

type Provider = z.input<typeof ProviderSection>;

/** Settings of a provider of a built-in kind or of a plugin. */
export type ProviderOf<Listed> =
  | Immutable<Provider>
  | (Listed extends ModelProviderPlugin<infer Name, infer Settings>
      ? Immutable<Omit<Provider, "kind" | keyof z.input<Settings>> & z.input<Settings>> & {
          readonly kind?: Name;
        }
      : never);

/** The section `backend`: SQLite, or the kind and settings of a plugin. */
export type BackendOf<Listed> =
  | { readonly kind: "sqlite" }
  | (Listed extends BackendPlugin<infer Name, infer Settings>
      ? Immutable<SettingsOf<Settings>> & { readonly kind: Name }
      : never);

/** The section `files`: a directory, or the kind and settings of a plugin. */
export type FilesOf<Listed> =
  | { readonly kind: "directory"; readonly path?: string }
  | (Listed extends FileStorePlugin<infer Name, infer Settings>
      ? Immutable<SettingsOf<Settings>> & { readonly kind: Name }
      : never);

/** The settings of a schema, which may have none. */
type SettingsOf<Settings extends z.ZodObject> = keyof Settings["shape"] extends never
  ? unknown
  : z.input<Settings>;

/** The section `transport`: the kind and settings of a plugin. */
export type TransportOf<Listed> =
  Listed extends TransportPlugin<infer Name, infer Settings>
    ? Immutable<SettingsOf<Settings>> & { readonly kind: Name }
    : never;
