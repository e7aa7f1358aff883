// Checks everything that the service needs and says how to fix problems. Changes nothing, and works beside a
// running server.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { keyRingOf, masterKeySettings } from "@colloquy/engine/internal/wiring/master-keys";
import { examineBus } from "./bus.ts";
import { broken, type Finding, ok, skipped, warning, failed } from "@colloquy/engine/internal/core/finding";
import { examineKeys } from "./keys.ts";
import { examineProxies } from "./proxies.ts";
import { listToolSources, toolFindings } from "./tool-sources.ts";

/** `models` also calls each model, which costs a few tokens. */
export async function examine(
  loaded: LoadedConfig,
  { models = false }: { readonly models?: boolean } = {},
): Promise<readonly Finding[]> {
  const warnings = loaded.warnings.map((text) =>
    warning("configuration", text, "docs/configuration.md explains every setting."),
  );
  if (!loaded.ok) {
    const problems = loaded.problems.map(({ source, location, message }) => {
      const where = [source, location].filter((part) => part !== "").join(", ");
      return broken("configuration", `${where} is wrong.`, message);
    });
    const rest = ["data directory", "database", "bus", "keys"];
    return [...problems, ...warnings, ...rest.map((about) => skipped(about, "Fix the configuration first."))];
  }
  const { config, source } = loaded;
  const where = source === null ? " (there is no colloquy.config.json)" : `: ${source}`;
  const found = [
    ok("configuration", `It is valid${where}.`),
    ...warnings,
    ...(await examineServices(config)),
    ...examineProxies(config),
  ];
  if (!models) return found;
  const [{ createModels }, { examineModels }] = await Promise.all([
    import("@colloquy/engine/internal/wiring/service"),
    import("./models.ts"),
  ]);
  const clock = createSystemClock();
  return [...found, ...(await examineModels(config, (adjusted) => createModels(adjusted, clock)))];
}

async function examineServices(config: Config): Promise<readonly Finding[]> {
  const { server, backend } = config;
  const clock = createSystemClock();
  const { plugin } = backend;
  const isShared = plugin.nodes !== undefined;
  const directory = isShared
    ? skipped("data directory", `Not used with the backend "${plugin.name}".`)
    : await examineDataDirectory(server.dataDirectory);
  const examined = plugin.examine?.(backend.settings.reveal(), { directory: server.dataDirectory, clock });
  const unexamined = skipped("database", `The backend "${plugin.name}" has no checks.`);
  const database = (await examined) ?? { findings: [unexamined], secretsByKey: null };
  const bus = isShared ? await examineBus(config, clock) : skipped("bus", "A single process needs none.");
  const hasSlots = Object.values(config.apps).some(({ secrets }) => secrets.length > 0);
  const keys = await examineKeys(keyRingOf(masterKeySettings(config)), database.secretsByKey, hasSlots);
  return [directory, ...database.findings, bus, keys, ...toolFindings(await listToolSources(config))];
}

const ABOUT = "data directory";
const MEBIBYTE = 1024 * 1024;
/** Free space below which a busy hour may fill the disk. */
const LOW_BYTES = 1024 * MEBIBYTE;
const FULL_BYTES = 64 * MEBIBYTE;

/** Checks write access and free space. Removes its test file. */
async function examineDataDirectory(directory: string): Promise<Finding> {
  const place = nearestExisting(directory);
  try {
    await tryToWrite(place);
    const { bavail, bsize } = await statfs(place);
    return spaceFinding(directory, bavail * bsize);
  } catch (error) {
    const mend = `Give the user of the service write access, or choose another directory with COLLOQUY_DATA_DIR.`;
    return failed(ABOUT, `${directory} cannot be written to`, error, mend);
  }
}

/** `free` is in bytes. */
export function spaceFinding(directory: string, free: number): Finding {
  const found = `${directory} can be written to, with ${Math.floor(free / MEBIBYTE)} MiB free.`;
  const mend = "Free space on its disk: when it is full, chats are rejected with 507, and nothing is lost.";
  if (free < FULL_BYTES) return broken(ABOUT, found, mend);
  return free < LOW_BYTES ? warning(ABOUT, found, mend) : ok(ABOUT, found);
}

async function tryToWrite(directory: string): Promise<void> {
  const path = join(directory, `.colloquy-doctor-${randomUUID()}`);
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile("written by colloquy doctor\n");
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}

function nearestExisting(directory: string): string {
  return existsSync(directory) || directory === dirname(directory)
    ? directory
    : nearestExisting(dirname(directory));
}
