// Selects the operations of a document, and creates their tools.

import type { OpenApiSettings } from "../../core/app-settings.ts";
import { toolNameOf } from "../mcp/mcp-names.ts";
import type { SourceTool } from "../tool-source.ts";
import { baseUrl, isElsewhere } from "./base-url.ts";
import type { OpenApiDocument } from "./document.ts";
import { listAt } from "./fields.ts";
import { createOpenApiTool, type OpenApiToolParts } from "./openapi-tool.ts";
import { readOperation, type WrittenOperation, writtenOperations } from "./operation.ts";
import { reservedNames } from "./reserved-names.ts";

/** Models choose badly among more tools, and each is sent with every model call. */
const maximumTools = 128;
/** Maximum size of one tool's input schema in characters of JSON. */
const maximumSchemaLength = 64 * 1_024;

export interface ReadToolsParts extends Pick<OpenApiToolParts, "outbound" | "scrub"> {
  /** Called if an operation, or a part of it, cannot be offered. `*` stands for several operations. */
  readonly onLeftOut: (operation: string, reason: string, extent: "whole" | "part") => void;
}

/** @throws Error if nothing of the document can be used. */
export function readTools(
  name: string,
  document: OpenApiDocument,
  settings: Pick<OpenApiSettings, "baseURL" | "operations" | "headers">,
  { outbound, scrub, onLeftOut }: ReadToolsParts,
): readonly SourceTool[] {
  const { content, location } = document;
  const base = baseUrl(settings.baseURL, document);
  const headers = settings.headers.reveal();
  const isReserved = reservedNames(content, headers);
  const names = new Set<string>();
  const all = writtenOperations(content, (path, reason) => onLeftOut(path, reason, "whole"));
  return chosen(all, settings.operations, onLeftOut).flatMap((written) => {
    const leaveOut = (reason: string, extent: "whole" | "part" = "part"): void =>
      onLeftOut(written.id.slice(0, 100), reason, extent);
    try {
      const own = listAt(written.operation, "servers");
      const servers = own.length > 0 ? own : listAt(written.item, "servers");
      if (settings.baseURL === null && isElsewhere(servers, base, location)) {
        throw new Error('It is on another server. Set "baseURL" if it is to be called where the others are.');
      }
      const plan = readOperation(content, written, { isReserved, onLeftOut: (what) => leaveOut(what) });
      if (JSON.stringify(plan.inputSchema).length > maximumSchemaLength) {
        throw new Error("Its input takes too long to describe.");
      }
      const parts = { name: freeName(toolNameOf(name, plan.id), names), base, headers, outbound, scrub };
      return [createOpenApiTool(plan, parts)];
    } catch (error) {
      leaveOut(`left out: ${error instanceof Error ? error.message : String(error)}`, "whole");
      return [];
    }
  });
}

function chosen(
  all: readonly WrittenOperation[],
  wanted: readonly string[] | null,
  onLeftOut: ReadToolsParts["onLeftOut"],
): readonly WrittenOperation[] {
  const found = wanted === null ? all : all.filter(({ id }) => wanted.includes(id));
  for (const id of wanted ?? []) {
    if (!all.some((written) => written.id === id))
      onLeftOut(id, "The document has no such operation.", "whole");
  }
  if (found.length > maximumTools) {
    onLeftOut(
      "*",
      `Only the first ${maximumTools} of ${found.length} operations are taken. Choose with "operations".`,
      "whole",
    );
  }
  return found.slice(0, maximumTools);
}

function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) {
    const ending = `_${count}`;
    free = name.slice(0, 64 - ending.length) + ending;
  }
  taken.add(free);
  return free;
}
