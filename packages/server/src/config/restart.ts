// What a reload cannot change: it is made once, when the service starts. The environment is read once as well.

import type { Config } from "./config.ts";

/** What settings of `Config.server` are called in the file, for those that stand there. */
const FILE_NAMES: Readonly<Record<string, string>> = { corsOrigins: "cors.origins" };

/** A warning for each setting in which `next` differs from what the service was started with, and which stays as it was. */
export function restartWarnings(started: Config, next: Config): readonly string[] {
  const places = [
    ...differences(started.server, next.server).map((name) => FILE_NAMES[name] ?? name),
    ...differences(started.limits, next.limits).map((name) => `limits.${name}`),
    ...differences(started.retention, next.retention).map((name) => `retention.${name}`),
    ...differences(turnPlaces(started), turnPlaces(next)).map((name) => `providers.${name}.maxRunningTurns`),
  ];
  return places.map((place) => `${place} has changed, which takes a restart; until then it stays as it was.`);
}

function turnPlaces({ providers }: Config): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    Object.entries(providers).map(([name, { maxRunningTurns }]) => [name, maxRunningTurns]),
  );
}

/** Names of the settings that differ; absent is the same as not set. */
function differences(before: object, after: object): string[] {
  const [old, current] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...current.keys()]);
  return [...names].filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(current.get(name)));
}
