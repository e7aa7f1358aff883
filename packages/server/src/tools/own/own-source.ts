// Tools that the operator defines in the configuration file with the AI SDK's `tool()`.

import type * as Sdk from "ai";
import type { OwnTool } from "../../core/app-settings.ts";
import { loadOnce } from "../../core/load-once.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { SourcePlan, SourceTool, ToolSource } from "../tool-source.ts";
import { readOwnTool } from "./own-tool.ts";

/** Plans one source for all own tools of an App. Imports the SDK, which reads their schemas, on first use. */
export function planOwnTools(tools: Readonly<Record<string, OwnTool>>, logger: Logger): SourcePlan {
  return { key: null, create: () => new OwnSource(tools, logger) };
}

class OwnSource implements ToolSource {
  readonly label = "own tools";
  readonly #tools: Readonly<Record<string, OwnTool>>;
  readonly #logger: Logger;
  readonly list: () => Promise<readonly SourceTool[]>;

  constructor(tools: Readonly<Record<string, OwnTool>>, logger: Logger) {
    this.#tools = tools;
    this.#logger = logger;
    this.list = loadOnce(() => this.#readAll());
  }

  retire(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #readAll(): Promise<readonly SourceTool[]> {
    const sdk: Pick<typeof Sdk, "asSchema"> = await import("ai");
    const read = Object.entries(this.#tools).map(async ([name, tool]) => {
      try {
        return [await readOwnTool(name, tool, sdk)];
      } catch (error) {
        this.#logger.error({ tool: name, err: error }, "a tool of the configuration file cannot be used");
        return [];
      }
    });
    return (await Promise.all(read)).flat();
  }
}
