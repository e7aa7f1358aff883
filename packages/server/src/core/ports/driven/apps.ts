// Apps at run time: what sessions and turns need to know of them. An App's name is part of the wire; what it may use is not.

import type { AppDescriptor } from "@colloquy/protocol";
import type { AppSettings } from "../../app-settings.ts";

export interface AppDefinition extends AppSettings {
  readonly name: string;
  readonly models: readonly [string, ...string[]];
  /** What the list of Apps shows. */
  readonly descriptor: AppDescriptor;
}

export interface AppCatalog {
  /** `default` first, the others in the order of the configuration. */
  names(): readonly string[];
  /** The App, the same object until the configuration is replaced; `null` when there is none of that name (any more). */
  get(name: string): AppDefinition | null;
}
