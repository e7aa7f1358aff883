// Normalizes messages of MCP servers before the SDK parses them. The SDK rejects a whole message for one invalid field,
// so a single invalid tool or content block would hide all others. Drops `null` and unused fields, marks invalid tools,
// and converts unknown blocks to text.

import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/tool-source";

/** Maximum nesting of arrays and objects in one tool, which the SDK parses recursively. */
const MAX_DEPTH = 64;
/** Maximum levels at which `null` is dropped. Only tool data is nested deeper. */
const MAX_LEVELS = 8;
/** Key in a tool's `_meta` that contains the reason for omitting the tool. */
const OMITTED = "colloquy/omitted";
const INTERNAL_ERROR = -32_603;

/** Returns the message in a valid form, or unchanged if its meaning is unclear. */
export function normalizeMessage(message: JsonValue): JsonValue {
  if (Array.isArray(message)) return message.map(normalizeMessage);
  if (!isJsonObject(message)) return message;
  // JSON-RPC errors for unreadable requests have the id `null`.
  const { result: _, error, params, ...envelope } = withoutNulls(message, 1) as JsonObject;
  if ("method" in envelope)
    return params === undefined ? envelope : { ...envelope, params: withoutNulls(params) };
  const { jsonrpc = "2.0", id } = envelope;
  const response = { jsonrpc, ...(id !== undefined && { id }) };
  if (error !== undefined) return { ...response, error: normalizeError(error) };
  const { result: written } = message;
  return id === undefined || !isJsonObject(written)
    ? message
    : { ...response, result: normalizeResult(written) };
}

/** Returns the reason for omitting a tool of a normalized list; `null` if the tool is valid. */
export function omissionReason(tool: {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}): string | null {
  const reason = tool._meta?.[OMITTED];
  return typeof reason === "string" ? reason : null;
}

function normalizeError(error: JsonValue): JsonObject {
  if (!isJsonObject(error)) return { code: INTERNAL_ERROR, message: textOf(error) };
  const { code, message, data } = error;
  return {
    code: Number.isInteger(code) ? (code ?? INTERNAL_ERROR) : INTERNAL_ERROR,
    message: typeof message === "string" ? message : textOf(message ?? code ?? ""),
    ...(data !== undefined && data !== null && { data }),
  };
}

function normalizeResult(result: JsonObject): JsonObject {
  const { tools, content, structuredContent, _meta: meta, ...others } = result;
  const rest = withoutNulls(others) as JsonObject;
  if (isJsonObject(meta)) rest["_meta"] = withoutNulls(meta);
  if (rest["nextCursor"] === "" || typeof rest["nextCursor"] !== "string") delete rest["nextCursor"];
  if (tools !== undefined) rest["tools"] = Array.isArray(tools) ? tools.map(normalizeTool) : (tools ?? []);
  if (content !== undefined) rest["content"] = Array.isArray(content) ? blocksOf(content) : (content ?? []);
  if (structuredContent !== undefined && structuredContent !== null)
    rest["structuredContent"] = structuredContent;
  if ("isError" in rest && typeof rest["isError"] !== "boolean") delete rest["isError"];
  if ("capabilities" in result || "serverInfo" in result) normalizeServer(rest);
  return rest;
}

/** Completes the server's capabilities and description of itself. */
function normalizeServer(rest: JsonObject): void {
  const { capabilities, serverInfo, instructions } = rest;
  const entries = Object.entries(isJsonObject(capabilities) ? capabilities : {})
    .filter(([, value]) => value !== false)
    .map(([name, value]): [string, JsonValue] => [name, isJsonObject(value) ? value : {}]);
  rest["capabilities"] = Object.fromEntries(entries);
  const { name = "server", version = "unknown" } = isJsonObject(serverInfo) ? serverInfo : {};
  if (serverInfo !== undefined || "protocolVersion" in rest)
    rest["serverInfo"] = { name: textOf(name), version: textOf(version) };
  if (instructions !== undefined && typeof instructions !== "string") delete rest["instructions"];
}

function normalizeTool(tool: JsonValue, index: number): JsonObject {
  const omit = (name: string, reason: string): JsonObject => ({
    name,
    inputSchema: { type: "object" },
    _meta: { [OMITTED]: reason },
  });
  const nameless = `tool ${index + 1} of the list`;
  if (!isJsonObject(tool)) return omit(nameless, "is not an object");
  const { name, title, description, inputSchema, outputSchema, annotations, execution, _meta: meta } = tool;
  if (typeof name !== "string" || name === "") return omit(nameless, "has no name");
  if (isDeeperThan(MAX_DEPTH, tool)) return omit(name, `is nested more than ${MAX_DEPTH} levels deep`);
  const input = normalizeInput(inputSchema ?? true);
  if (typeof input === "string") return omit(name, input);
  return {
    name,
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
    inputSchema: input,
    ...(isJsonObject(outputSchema) && { outputSchema: withoutInvalidDialect(outputSchema) }),
    ...(isJsonObject(annotations) && { annotations: booleansOf(annotations) }),
    ...(isJsonObject(execution) && EXECUTIONS.has(execution["taskSupport"] ?? null) && { execution }),
    ...(isJsonObject(meta) && { _meta: withoutNulls(meta) }),
  };
}

const EXECUTIONS: ReadonlySet<JsonValue> = new Set(["required", "optional", "forbidden"]);

/** Returns an input schema with the root that the protocol requires, or the reason for omitting the tool. */
function normalizeInput(schema: JsonValue): JsonObject | string {
  if (schema === true) return { type: "object" };
  if (!isJsonObject(schema)) return "has an input schema that is not an object";
  const { type, properties, required, ...rest } = withoutInvalidDialect(schema);
  const types = [type ?? []].flat().filter((one) => one !== null);
  const isObject = types.length === 0 || types.some((one) => textOf(one).trim().toLowerCase() === "object");
  if (!isObject)
    return `takes ${types.map(textOf).join(" or ").slice(0, 100)}, and MCP tools must take an object`;
  return {
    ...rest,
    type: "object",
    ...(isJsonObject(properties) && { properties }),
    ...(Array.isArray(required) && { required: required.filter((name) => typeof name === "string") }),
  };
}

function withoutInvalidDialect(schema: JsonObject): JsonObject {
  const { $schema, ...rest } = schema;
  return typeof $schema === "string" ? schema : rest;
}

function booleansOf(object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(
    ([key, value]) => typeof value === "boolean" || (key === "title" && typeof value === "string"),
  );
  return Object.fromEntries(entries);
}

/** Returns the content blocks. Converts unknown blocks to text, unless all blocks are unknown. */
function blocksOf(content: readonly JsonValue[]): JsonValue[] {
  const blocks = content.filter((block) => block !== null);
  const normalized = blocks.map(normalizeBlock);
  if (normalized.every((block) => block === null)) return blocks;
  return normalized.map((block, index) => block ?? { type: "text", text: textOf(blocks[index] ?? null) });
}

/** Returns a content block with its used fields; `null` if the protocol does not define the block. */
function normalizeBlock(block: JsonValue): JsonObject | null {
  if (!isJsonObject(block)) return null;
  const { type, text, data, mimeType, uri, name, description, resource } = block;
  const mime = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "text" && (text === null || text === undefined)) return { type, text: "" };
  if ((type === "image" || type === "audio") && typeof data === "string") {
    const base64 = withoutDataUrl(data);
    if (isBase64(base64)) return { type, data: base64, mimeType: mime };
  }
  if (type === "resource_link" && typeof uri === "string") {
    return {
      type,
      uri,
      name: typeof name === "string" ? name : uri,
      ...(typeof description === "string" && { description }),
      ...(typeof mimeType === "string" && { mimeType }),
    };
  }
  if (type === "resource" && isJsonObject(resource) && typeof resource["uri"] === "string") {
    const about = {
      uri: resource["uri"],
      ...(typeof resource["mimeType"] === "string" && { mimeType: resource["mimeType"] }),
    };
    if (typeof resource["text"] === "string") return { type, resource: { ...about, text: resource["text"] } };
    const { blob } = resource;
    const base64 = typeof blob === "string" ? withoutDataUrl(blob) : null;
    if (base64 !== null && isBase64(base64)) return { type, resource: { ...about, blob: base64 } };
  }
  return null;
}

/** Some servers send a data URL. */
function withoutDataUrl(data: string): string {
  return /^data:[^,]{0,200};base64,/i.test(data) ? data.slice(data.indexOf(",") + 1) : data;
}

function isBase64(text: string): boolean {
  try {
    atob(text);
    return true;
  } catch {
    return false;
  }
}

function textOf(value: JsonValue): string {
  if (typeof value === "string") return value;
  return isDeeperThan(MAX_DEPTH, value) ? "[nested too deep]" : JSON.stringify(value);
}

function withoutNulls(value: JsonValue, levels = MAX_LEVELS): JsonValue {
  if (levels === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return value.filter((item) => item !== null).map((item) => withoutNulls(item, levels - 1));
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutNulls(inner, levels - 1)]));
}
