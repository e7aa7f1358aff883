// Types of the validated, completed and frozen engine configuration. Times are in milliseconds.

import type { z } from "zod";
import type { StorageConfig } from "./backends.ts";
import type { AppSettings, ChainSettings } from "../core/app-settings.ts";
import type { Hidden } from "../core/hidden.ts";
import type { ChosenFileStore } from "../core/plugins/file-store.ts";
import type { PluginProvider } from "../core/plugins/model-provider.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import type { Proxies } from "../core/proxies.ts";
import type { LimitsSection, PROVIDER_KINDS, ProviderSection, RetentionSection } from "./sections.ts";

/** `plugin`: a provider whose kind in the file belongs to a plugin. */
export type ProviderKind = (typeof PROVIDER_KINDS)[number] | "plugin";

export interface EngineConfig extends StorageConfig {
  /** Apps by name; always includes `default`. */
  readonly apps: Readonly<Record<string, AppSettings>>;
  /** Configured blockchains, in the order of the file. */
  readonly chains: readonly ChainSettings[];
  /** Providers by the part of a rig before `/`. Includes every provider that an App's rigs name. */
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  /** Keeps the bytes of files. */
  readonly files: ChosenFileStore;
  readonly limits: Readonly<z.output<typeof LimitsSection>>;
  readonly retention: Readonly<z.output<typeof RetentionSection>>;
  /** Secrets by provider name. */
  readonly secrets: Hidden<Readonly<Record<string, ProviderSecrets>>>;
  /** Plugins: bundled ones first, then those of the configuration. */
  readonly plugins: readonly Plugin[];
  /** Proxies for requests to models, tools, issuers and chains. */
  readonly proxies: Proxies;
}

export interface ProviderSecrets {
  /** `null` if the server needs no key. */
  readonly apiKey: string | null;
  /** Header fields sent with every request. Any of them may contain a key. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Provider settings; its API key and headers are in `Config.secrets`. */
export interface ProviderConfig extends Omit<Section, "kind" | "apiKeyEnv" | "headers"> {
  readonly kind: ProviderKind;
  /** Present for the kind `plugin`. */
  readonly plugin?: PluginProvider;
}

type Section = Readonly<z.output<typeof ProviderSection>>;
