import type { AppSettings } from "../core/app-settings.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/apps.ts";
import { DEFAULT_APP } from "../core/session.ts";

/** The catalog of the configured Apps. Throws when `default` is missing or an App has no model: a defect of the caller. */
export function createApps(settings: Readonly<Record<string, AppSettings>>): AppCatalog {
  const others = Object.keys(settings).filter((name) => name !== DEFAULT_APP);
  const names = Object.freeze([DEFAULT_APP, ...others]);
  const apps = new Map(names.map((name) => [name, defineApp(name, settings)]));
  return Object.freeze({
    names: () => names,
    get: (name: string) => apps.get(name) ?? null,
  });
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
