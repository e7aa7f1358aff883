// The default backend: SQLite in the data directory, for one process.

import { NoDatabase } from "../../core/errors.ts";
import { failed, ok } from "../../core/finding.ts";
import { defineBackend, type Examination } from "../../core/plugins/backend.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { schemaFinding } from "../inspection.ts";
import { hasDatabase } from "./data-directory.ts";
import { inspectSqlite } from "./inspection.ts";
import { openSqliteStore } from "./open.ts";
import { tightenData } from "./private-files.ts";
import { withSqliteTables } from "./tables.ts";

export const sqlite = defineBackend({
  name: "sqlite",
  version: "0.1.0",
  async open(_settings, { role, mayCreate, directory, processId, clock, logger, onFatal }) {
    if (!mayCreate && directory !== null && !hasDatabase(directory)) throw new NoDatabase(directory);
    if (role === "command")
      return await openSqliteStore({ directory, role: "administration", clock, onFatal });
    if (directory !== null) tighten(directory, logger);
    const identity = processId === null ? {} : { processId };
    return await openSqliteStore({ directory, isAlone: true, clock, onFatal, ...identity });
  },
  examine: (_settings, { directory }) => Promise.resolve(examine(directory)),
  withTables: (_settings, options, work) => withSqliteTables(options, work),
});

function tighten(directory: string, logger: Logger): void {
  for (const { path, mode, isTight } of tightenData(directory)) {
    if (isTight) logger.info({ path, mode }, "removed the permissions of other users on the data");
    else
      logger.warn(
        { path, mode },
        "Other users can access the data, and their permissions cannot be removed here. Restrict access on its volume, or choose another directory with COLLOQUY_DATA_DIR.",
      );
  }
}

function examine(directory: string): Examination {
  const place = `SQLite in ${directory}`;
  try {
    const found = inspectSqlite(directory);
    if (found === null) {
      return {
        findings: [ok("database", `${place}: no database yet; the first start creates it.`)],
        secretsByKey: {},
      };
    }
    const finding = schemaFinding(place, found);
    const served = found.isServed ? "A server is running on it." : "No server is running on it.";
    return {
      findings: [{ ...finding, found: `${finding.found} ${served}` }],
      secretsByKey: found.secretsByKey,
    };
  } catch (error) {
    const mend = "Check the file and its disk; if it is damaged, restore a backup (docs/operations.md).";
    return { findings: [failed("database", `${place} cannot be read`, error, mend)], secretsByKey: null };
  }
}
