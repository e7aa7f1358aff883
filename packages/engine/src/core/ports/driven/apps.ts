// The Apps as sessions and turns see them at run time. Implemented by `createApps` (apps/app-catalog.ts).

import type { AppDescriptor } from "@colloquy/protocol";
import type { AppSettings } from "../../app-settings.ts";

export interface AppDefinition extends AppSettings {
  readonly name: string;
  readonly models: readonly [string, ...string[]];
  /** Secret slots and suggestions shown in the list of Apps. */
  readonly descriptor: AppDescriptor;
}

export interface AppCatalog {
  /** Returns the names of all Apps: `default` first, the others in the order of the configuration. */
  names(): readonly string[];
  /** Returns the App, the same object until the configuration is replaced; `null` if there is none of that name. */
  get(name: string): AppDefinition | null;
}
