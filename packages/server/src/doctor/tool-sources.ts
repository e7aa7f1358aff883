// Connects to the MCP servers and OpenAPI services of each App, as a turn would. Calls none of their tools.

import type { Config } from "../config/config.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { NEVER_CHECKED } from "../core/ports/driven/schema-check.ts";
import { createSystemClock } from "../wiring/clock.ts";
import { createTools } from "../wiring/service.ts";
import { type Finding, ok, skipped, warning } from "./finding.ts";

const ABOUT = "tools";
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const MEND =
  "Start the server, or correct its section in the configuration. Until then the App runs without these tools.";

/** Returns a finding for each server; none if no App has one. Never rejects because of a server. */
export async function examineToolSources(config: Config): Promise<readonly Finding[]> {
  const remote = Object.entries(config.apps).flatMap(([app, { tools }]) => {
    const labels = [
      ...Object.keys(tools.mcp).map((name) => `mcp ${name}`),
      ...Object.keys(tools.openapi).map((name) => `openapi ${name}`),
    ];
    return labels.length === 0 ? [] : [{ app, labels }];
  });
  if (remote.length === 0) return [];
  const tools = createTools(
    { config, clock: createSystemClock(), logger: SILENT, schemas: NEVER_CHECKED },
    () => false,
  );
  try {
    const found = remote.map(async ({ app, labels }) => {
      await tools.refresh(app);
      const reports = tools.sources(app).filter(({ name }) => labels.includes(name));
      return reports.map(({ name, state, tools: count, problem }) => {
        const source = `App "${app}", ${name}`;
        if (state === "failing") return warning(ABOUT, `${source}: ${problem}`, MEND);
        if (state === "working") return ok(ABOUT, `${source}: it lists its tools (${count}).`);
        return skipped(ABOUT, `${source}: it needs a secret of a client.`);
      });
    });
    return (await Promise.all(found)).flat();
  } finally {
    await tools.close();
  }
}
