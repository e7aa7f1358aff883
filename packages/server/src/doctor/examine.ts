// Checks everything that the service needs and says what to fix. Changes nothing; a server may be running.

import { createSystemClock } from "../wiring/clock.ts";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { keyRingOf, masterKeySettings } from "../wiring/master-keys.ts";
import { examineBus } from "./bus.ts";
import { examineDataDirectory } from "./data-directory.ts";
import { type ExaminedDatabase, examinePostgres, examineSqlite } from "./database.ts";
import { broken, type Finding, ok, skipped, warning } from "./finding.ts";
import { examineKeys } from "./keys.ts";

export async function examine(loaded: LoadedConfig): Promise<readonly Finding[]> {
  const warnings = loaded.warnings.map((text) =>
    warning("configuration", text, "docs/configuration.md explains every setting."),
  );
  if (!loaded.ok) {
    const problems = loaded.problems.map(({ source, place, message }) => {
      const where = [source, place].filter((part) => part !== "").join(", ");
      return broken("configuration", `${where} is wrong.`, message);
    });
    const rest = ["data directory", "database", "bus", "keys"];
    return [...problems, ...warnings, ...rest.map((about) => skipped(about, "Fix the configuration first."))];
  }
  const { config, source } = loaded;
  const where = source === null ? " (there is no file)" : `: ${source}`;
  return [ok("configuration", `It is valid${where}.`), ...warnings, ...(await examineServices(config))];
}

async function examineServices(config: Config): Promise<readonly Finding[]> {
  const { server, databaseUrl, natsUrl } = config;
  const clock = createSystemClock();
  const url = databaseUrl?.reveal() ?? null;
  const directory =
    url === null
      ? await examineDataDirectory(server.dataDirectory)
      : skipped("data directory", "Not used with COLLOQUY_DATABASE_URL.");
  const database =
    url === null ? examineSqlite(server.dataDirectory) : await examinePostgres(url, () => clock.now());
  const bus =
    url === null
      ? skipped("bus", "A single process needs none.")
      : await examineBus({ databaseUrl: url, natsUrl: natsUrl?.reveal() ?? null }, clock);
  return [directory, ...database.findings, bus, await keysFinding(config, database)];
}

async function keysFinding(config: Config, { secretsByKey }: ExaminedDatabase): Promise<Finding> {
  const hasSlots = Object.values(config.apps).some(({ secrets }) => secrets.length > 0);
  return await examineKeys({ ring: keyRingOf(masterKeySettings(config)), secretsByKey, hasSlots });
}
