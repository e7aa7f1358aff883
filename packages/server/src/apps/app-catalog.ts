import type { AppSettings } from "../core/app-settings.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import { DEFAULT_APP } from "../core/session.ts";

type AppsByName = Readonly<Record<string, AppSettings>>;

/** A catalog whose Apps can be replaced by a reload, all at once. */
export interface ReplaceableApps extends AppCatalog {
  /** Throws if `createApps` would throw, without changing anything. */
  replace(settings: AppsByName): void;
}

/**
 * Creates the catalog. Throws if `default` is missing or an App has no model, which its callers must rule
 * out.
 */
export function createApps(settings: AppsByName): ReplaceableApps {
  let apps = defineApps(settings);
  let names = Object.freeze([...apps.keys()]);
  return Object.freeze({
    names: () => names,
    get: (name: string) => apps.get(name) ?? null,
    replace: (next: AppsByName) => {
      apps = defineApps(next);
      names = Object.freeze([...apps.keys()]);
    },
  });
}

function defineApps(settings: AppsByName): ReadonlyMap<string, AppDefinition> {
  const others = Object.keys(settings).filter((name) => name !== DEFAULT_APP);
  return new Map([DEFAULT_APP, ...others].map((name) => [name, defineApp(name, settings)]));
}

function defineApp(name: string, all: Readonly<Record<string, AppSettings>>): AppDefinition {
  const settings = all[name];
  const [first, ...rest] = settings?.models ?? [];
  if (settings === undefined || first === undefined) {
    throw new Error(`The App "${name}" must be configured with at least one model`);
  }
  const { secrets } = settings;
  const descriptor = secrets.length === 0 ? { name } : { name, secrets: [...secrets] };
  const models = Object.freeze([first, ...rest] as const);
  return Object.freeze({ ...settings, name, models, descriptor: Object.freeze(descriptor) });
}
