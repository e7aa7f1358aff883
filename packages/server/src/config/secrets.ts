// Keys that the service needs and nobody may read in a log. They live in a closure, so that nothing that prints the
// configuration (console, logger, JSON, error reports) can reach them: it sees which are set.

import { inspect } from "node:util";

export interface ProviderSecrets {
  /** `null` for a server that wants none. */
  readonly apiKey: string | null;
  /** Header fields sent with every request; they may hold a key, so they are secret as a whole. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Secrets {
  /** What is sent to a provider; nothing for one that is unknown. */
  provider(name: string): ProviderSecrets;
  /** Names of the secrets that are set, for people. */
  toJSON(): readonly string[];
}

const NOTHING: ProviderSecrets = Object.freeze({ apiKey: null, headers: Object.freeze({}) });

export function createSecrets(providers: Readonly<Record<string, ProviderSecrets>>): Secrets {
  const byName = new Map(Object.entries(providers));
  const names = Object.freeze(
    [...byName].flatMap(([name, { apiKey, headers }]) => [
      ...(apiKey === null ? [] : [`providers.${name}.apiKey`]),
      ...Object.keys(headers).map((header) => `providers.${name}.headers.${header}`),
    ]),
  );
  return Object.freeze({
    provider: (name: string) => byName.get(name) ?? NOTHING,
    toJSON: () => names,
    [inspect.custom]: () => names,
  });
}
