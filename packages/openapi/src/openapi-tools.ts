// Selects operations of a document and creates their tools.

import {
  isJsonObject,
  type JsonObject,
  messageOf,
  type PluginTool,
  toolNameOf,
} from "@colloquy/engine/tool-source";
import { baseUrl, isElsewhere, type OpenApiDocument } from "./document.ts";
import { listAt, objectAt, textAt } from "./fields.ts";
import { createOpenApiTool, type OpenApiToolParts } from "./openapi-tool.ts";
import { readOperation, type WrittenOperation, writtenOperations } from "./operation.ts";
import type { ParameterPlace } from "./parameter.ts";
import type { OpenApiSettings } from "./settings.ts";

/**
 * Maximum tools per document. Models choose badly among more, and each tool is sent with every model call.
 */
const maximumTools = 128;
/** Maximum size of one tool's input schema in characters of JSON. */
const maximumSchemaLength = 64 * 1_024;

export interface ReadToolsParts extends Pick<OpenApiToolParts, "outbound" | "scrub"> {
  /** Called if an operation, or a part of it, cannot be offered. `*` stands for several operations. */
  readonly onOmitted: (operation: string, reason: string, extent: "whole" | "part") => void;
}

/** @throws Error if the document has no usable operation */
export function readTools(
  name: string,
  document: OpenApiDocument,
  settings: Pick<OpenApiSettings, "baseURL" | "operations" | "headers">,
  { onOmitted, ...parts }: ReadToolsParts,
): readonly PluginTool[] {
  const { content, location } = document;
  const base = baseUrl(settings.baseURL, document);
  const headers = settings.headers.reveal();
  const isReserved = reservedNames(content, headers);
  const names = new Set<string>();
  const all = writtenOperations(content, (path, reason) => onOmitted(path, reason, "whole"));
  return chosen(all, settings.operations, onOmitted).flatMap((written) => {
    const leaveOut = (reason: string, extent: "whole" | "part" = "part"): void =>
      onOmitted(written.id.slice(0, 100), reason, extent);
    try {
      const own = listAt(written.operation, "servers");
      const servers = own.length > 0 ? own : listAt(written.item, "servers");
      if (settings.baseURL === null && isElsewhere(servers, base, location)) {
        throw new Error(
          'It is on another server. Set "baseURL" to call it on the same server as the others.',
        );
      }
      const plan = readOperation(content, written, { isReserved, onOmitted: (what) => leaveOut(what) });
      if (JSON.stringify(plan.inputSchema).length > maximumSchemaLength) {
        throw new Error("Its input takes too long to describe.");
      }
      const fullName = freeName(toolNameOf(name, plan.id), names);
      const tool = { name: fullName.slice(name.length + 1), base, headers };
      return [createOpenApiTool(plan, { ...tool, ...parts })];
    } catch (error) {
      leaveOut(`left out: ${messageOf(error)}`, "whole");
      return [];
    }
  });
}

function chosen(
  all: readonly WrittenOperation[],
  wanted: readonly string[] | null,
  onOmitted: ReadToolsParts["onOmitted"],
): readonly WrittenOperation[] {
  const found = wanted === null ? all : all.filter(({ id }) => wanted.includes(id));
  for (const id of wanted ?? []) {
    if (!all.some((written) => written.id === id))
      onOmitted(id, "The document has no such operation.", "whole");
  }
  if (found.length > maximumTools) {
    onOmitted(
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

/** Headers about identity, routing, content or transport. */
const reservedHeaders = (
  "accept authorization connection content-encoding content-length content-type cookie expect forwarded host idempotency-key " +
  "keep-alive origin referer te trailer transfer-encoding upgrade via x-http-method x-http-method-override x-method-override " +
  "x-original-host x-original-url x-real-ip x-rewrite-url"
).split(" ");
const reservedBeginnings = /^(?:proxy-|sec-|x-forwarded-)/;

/**
 * Returns a predicate for parameters that the model must not set: reserved headers, configured headers, and
 * the parameters of the document's security schemes.
 *
 * @param headers the configured headers.
 */
export function reservedNames(
  document: JsonObject,
  headers: Readonly<Record<string, string>>,
): (place: ParameterPlace, name: string) => boolean {
  const schemes = Object.values(objectAt(objectAt(document, "components"), "securitySchemes") ?? {});
  const keys = schemes
    .filter(isJsonObject)
    .filter((scheme) => scheme["type"] === "apiKey")
    .map((scheme) => ({ place: textAt(scheme, "in"), name: textAt(scheme, "name").toLowerCase() }));
  const sent = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  return (place, name) => {
    const small = name.toLowerCase();
    if (keys.some((key) => key.place === place && key.name === small)) return true;
    // All configured cookies are one header, which must not be overwritten.
    if (place === "cookie") return sent.has("cookie");
    if (place !== "header") return false;
    return sent.has(small) || reservedHeaders.includes(small) || reservedBeginnings.test(small);
  };
}
