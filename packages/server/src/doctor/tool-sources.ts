// Lists the tools of each App's plugin sources as a turn does. Calls no tool.

import type { Config } from "../config/config.ts";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { NEVER_CHECKED } from "@colloquy/engine/internal/core/ports/driven/schema-check";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { createModels, createTools } from "@colloquy/engine/internal/wiring/service";
import { broken, type Finding, ok, skipped, warning } from "@colloquy/engine/internal/core/finding";
import type { ConfigProblem } from "@colloquy/engine/internal/config/problem";
import { formatPath } from "@colloquy/engine/internal/config/problem";
import type { ExaminedSource } from "@colloquy/engine/internal/core/ports/driven/tool";

const ABOUT = "tools";
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const MEND =
  "If the source needs a server, start it. Otherwise correct the source or its section. Until then the App runs without these tools.";
const MEND_TOOLS =
  "Choose fewer tools, correct their schemas, or raise the provider's maxTools. The others work.";
const MEND_NAME = "Correct the name in the configuration.";
const MEND_APPROVAL =
  "Correct the name in the configuration. Until then all tools of the source without a rule of their own need approval.";

/** Sources of an App, with their tools. */
export interface ExaminedApp {
  readonly app: string;
  readonly sources: readonly ExaminedSource[];
}

/** Lists the tools of each App. Never rejects: a failure of a source is part of the result. */
export async function listToolSources(config: Config): Promise<readonly ExaminedApp[]> {
  const remote = Object.entries(config.apps).flatMap(([app, { tools }]) => {
    const labels = tools.sources.map(({ label }) => label);
    const hasOthers = Object.keys(tools.own).length > 0 || tools.client !== undefined;
    return labels.length === 0 && !hasOthers ? [] : [{ app, labels }];
  });
  if (remote.length === 0) return [];
  const clock = createSystemClock();
  const tools = createTools(
    { config, clock, logger: SILENT, schemas: NEVER_CHECKED },
    createModels(config, clock),
  );
  try {
    const listed = remote.map(async ({ app, labels }) => {
      const sources = await tools.examine(app);
      return {
        app,
        sources: sources.filter(({ name, problem }) => labels.includes(name) || problem !== null),
      };
    });
    return await Promise.all(listed);
  } finally {
    await tools.close();
  }
}

/** Returns one finding per source, and one per setting for a tool that its source does not list. */
export function toolFindings(apps: readonly ExaminedApp[]): readonly Finding[] {
  return apps.flatMap(({ app, sources }) => sources.flatMap((source) => findingsOf(app, source)));
}

/** Returns the entries of `approvals` for tools that their source does not list. */
export function unknownApprovals(apps: readonly ExaminedApp[], file: string): readonly ConfigProblem[] {
  return apps.flatMap(({ app, sources }) =>
    sources.flatMap((source) =>
      source.unknown.filter(isProblem(source)).map((unknown) => ({
        source: file,
        location: formatPath(["apps", app, unknown.section, unknown.tool]),
        message: describeUnknown(unknown),
      })),
    ),
  );
}

function findingsOf(app: string, source: ExaminedSource): readonly Finding[] {
  const { name, state, problem, tools: count, rules, unknown } = source;
  const subject = `App "${app}", ${name}`;
  if (state === "failing") return [warning(ABOUT, `${subject}: ${problem}`, MEND)];
  const names = unknown.map((one) => {
    const found = `App "${app}", ${one.section}.${one.tool}: ${describeUnknown(one)}`;
    if (one.section === "effects") return warning(ABOUT, found, MEND_NAME);
    return (isProblem(source)(one) ? broken : warning)(ABOUT, found, MEND_APPROVAL);
  });
  const details = rules.map(
    ({ name: tool, effect, approval }) => `${tool}: effect ${effect}, approval ${approval}`,
  );
  const finding =
    problem !== null
      ? warning(ABOUT, `${subject}: ${problem}`, MEND_TOOLS)
      : state === "working"
        ? ok(ABOUT, `${subject}: it lists its tools (${count}).`)
        : skipped(ABOUT, `${subject}: it needs a secret of a client.`);
  return [{ ...finding, ...(details.length > 0 && { details }) }, ...names];
}

/**
 * Returns a filter for unknown approvals. If the source omits tools, they are warnings: they may name an omitted
 * tool.
 */
function isProblem({ problem }: ExaminedSource): (unknown: ExaminedSource["unknown"][number]) => boolean {
  return ({ section }) => section === "approvals" && problem === null;
}

function describeUnknown({ source, nearest }: ExaminedSource["unknown"][number]): string {
  return `${source} lists no tool of this name.${nearest === null ? "" : ` Did you mean "${nearest}"?`}`;
}
