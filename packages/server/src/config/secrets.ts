// Keys that must never appear in a log. They are stored in a closure, so that printing the configuration (console,
// logger, JSON, error reports) shows only which ones are set.

import { inspect } from "node:util";

export interface ProviderSecrets {
  /** `null` for a server without a key. */
  readonly apiKey: string | null;
  /** Header fields sent with every request. They may contain a key, so all of them are secret. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Secrets {
  /** Returns the secrets of a provider; empty ones if it is unknown. */
  provider(name: string): ProviderSecrets;
  /** Returns the names of the secrets that are set. */
  toJSON(): readonly string[];
}

const NO_SECRETS: ProviderSecrets = Object.freeze({ apiKey: null, headers: Object.freeze({}) });

export function createSecrets(providers: Readonly<Record<string, ProviderSecrets>>): Secrets {
  const byName = new Map(Object.entries(providers));
  const names = Object.freeze(
    [...byName].flatMap(([name, { apiKey, headers }]) => [
      ...(apiKey === null ? [] : [`providers.${name}.apiKey`]),
      ...Object.keys(headers).map((header) => `providers.${name}.headers.${header}`),
    ]),
  );
  return Object.freeze({
    provider: (name: string) => byName.get(name) ?? NO_SECRETS,
    toJSON: () => names,
    [inspect.custom]: () => names,
  });
}
