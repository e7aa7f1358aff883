// Settings that a reload cannot change, because they are applied once at startup. The environment is also read once.

import type { Config } from "./config.ts";

/** Names in the file of those `Config.server` settings that come from it. */
const FILE_NAMES: Readonly<Record<string, string>> = { corsOrigins: "cors.origins" };

/** Returns a warning for each setting of `next` that differs from `started` and needs a restart to take effect. */
export function restartWarnings(started: Config, next: Config): readonly string[] {
  const settings = [
    ...differences(started.server, next.server).map((name) => FILE_NAMES[name] ?? name),
    ...differences(started.limits, next.limits).map((name) => `limits.${name}`),
    ...differences(started.retention, next.retention).map((name) => `retention.${name}`),
    ...differences(turnSlots(started), turnSlots(next)).map((name) => `providers.${name}.maxRunningTurns`),
  ];
  return settings.map(
    (setting) =>
      `${setting} has changed. Restart the service to apply it; until then the old value stays in force.`,
  );
}

function turnSlots({ providers }: Config): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    Object.entries(providers).map(([name, { maxRunningTurns }]) => [name, maxRunningTurns]),
  );
}

/** Returns the names of the settings that differ; absent equals undefined. */
function differences(before: object, after: object): string[] {
  const [old, current] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...current.keys()]);
  return [...names].filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(current.get(name)));
}
