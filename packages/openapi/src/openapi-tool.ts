// Creates a tool from an operation. The operator sets the base URL and the headers of its requests; the model
// sets everything else.

import {
  Beginning,
  fillSecrets,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  OutboundError,
  type PluginTool,
  type SourceContext,
  type ToolContext,
  type ToolEffect,
} from "@colloquy/engine/tool-source";
import type { OperationPlan } from "./operation.ts";
import type { BodyPlan } from "./body.ts";
import { cookieText, headerText, pathText, queryPairs } from "./parameter.ts";

export interface OpenApiToolParts {
  readonly name: string;
  readonly base: URL;
  /** The configured headers, with secrets not yet filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outbound: Pick<SourceContext, "guardedFetch">;
  readonly scrub: (value: JsonValue) => JsonValue;
}

/** Maximum size of a response. */
const maximumAnswerBytes = 1_024 * 1_024;
/** Time limit of a request in milliseconds. Longer than any tool's limit, which therefore applies first. */
const timeoutMs = 600_000;

export function createOpenApiTool(plan: OperationPlan, parts: OpenApiToolParts): PluginTool {
  const { name, base, headers, outbound, scrub } = parts;
  return {
    name,
    title: plan.title,
    description: plan.description,
    inputSchema: plan.inputSchema,
    effect: plan.effect,
    scrub,
    async execute(input: unknown, context: ToolContext) {
      const { url, init } = buildRequest(plan, isJsonObject(input) ? input : {}, {
        base,
        headers: fillSecrets(headers, context),
        callId: context.callId,
      });
      const { signal } = context;
      const limits = { allowPrivate: base.origin, maxBytes: maximumAnswerBytes, timeoutMs, signal };
      try {
        return await readAnswer(await outbound.guardedFetch(url, init, limits), url.host);
      } catch (error) {
        throw withOutcome(error, plan.effect);
      }
    },
  };
}

/** Adds to the error of an unsafe call that the call may have taken effect. */
function withOutcome(error: unknown, effect: ToolEffect): unknown {
  const isUnknown = error instanceof OutboundError && (error.kind === "failed" || error.kind === "timeout");
  if (!isUnknown || effect !== "unsafe") return error;
  const message = `${error.message} Its outcome is unknown: it may have had its effect, so check before calling it again.`;
  return new OutboundError(error.kind, message, { cause: error });
}

export interface OperationRequest {
  readonly url: URL;
  readonly init: { readonly method: string; readonly headers: Headers; readonly body: string | null };
}

interface RequestParts {
  readonly base: URL;
  /** The configured headers with secrets filled in, which override all others. */
  readonly headers: Readonly<Record<string, string>>;
  readonly callId: string;
}

/**
 * @param input must fit the operation's schema.
 * @throws Error with a message for the model, for a value that its parameter cannot hold.
 */
export function buildRequest(plan: OperationPlan, input: JsonObject, parts: RequestParts): OperationRequest {
  const given = plan.parameters.flatMap((parameter) => {
    const value = valueOf(input, parameter.input);
    return value === undefined ? [] : [{ parameter, value }];
  });
  const at = (place: string): typeof given => given.filter(({ parameter }) => parameter.place === place);
  const pathTexts = new Map(
    at("path").map((one) => [one.parameter.name, pathText(one.parameter, one.value)]),
  );
  const path = plan.path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const text = pathTexts.get(name);
    if (text === undefined) throw new Error(`The call needs a value for ${name}.`);
    return text;
  });
  const query = at("query").flatMap(({ parameter, value }) => queryPairs(parameter, value));
  const headers = new Headers({ accept: "application/json, text/plain;q=0.9, */*;q=0.5" });
  if (plan.effect !== "read") headers.set("idempotency-key", parts.callId);
  for (const { parameter, value } of at("header")) headers.set(parameter.name, headerText(parameter, value));
  const cookies = at("cookie").map(({ parameter, value }) => cookieText(parameter, value));
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  const body = plan.body === null ? null : bodyText(plan.body, input);
  if (plan.body !== null && body !== null) headers.set("content-type", plan.body.contentType);
  for (const [name, value] of Object.entries(parts.headers)) headers.set(name, value);
  return { url: join(parts.base, path, query), init: { method: plan.method, headers, body } };
}

function join(base: URL, path: string, query: readonly string[]): URL {
  const prefix = base.origin + base.pathname.replace(/\/$/, "");
  const queries = [base.search.slice(1), ...query].filter((part) => part !== "");
  return new URL(`${prefix}${path}${queries.length > 0 ? `?${queries.join("&")}` : ""}`);
}

function bodyText({ from, required, write }: BodyPlan, input: JsonObject): string | null {
  if (typeof from === "string") {
    const value = valueOf(input, from);
    return value === undefined ? null : write(value);
  }
  const fields = [...from].flatMap(([name, field]) => {
    const value = valueOf(input, name);
    return value === undefined ? [] : [[field, value] as const];
  });
  // Omit an optional body without fields.
  return fields.length > 0 || required ? write(Object.fromEntries(fields)) : null;
}

function valueOf(input: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}

interface Answer {
  readonly status: number;
  /** The body as JSON or text, `null` if it is empty, or a description of any other body. */
  readonly body: JsonValue;
}

interface ReadBytes {
  readonly bytes: Buffer;
  /** `false` if the body exceeded the limit. */
  readonly isAll: boolean;
}

/**
 * Reads the response, or the beginning of a text that is too large.
 *
 * @throws Error with status and body if the status is 400 or higher. Not truncated, because secrets must be
 *   removed first.
 */
export async function readAnswer(response: Response, host: string): Promise<Answer | Beginning> {
  const { status } = response;
  const read = await readBytes(response);
  const size = `${read.isAll ? "" : "more than "}${read.bytes.length} bytes`;
  const [type = "", ...parameters] = (response.headers.get("content-type") ?? "").toLowerCase().split(";");
  const text = decode(read, type.trim(), parameters.join(";"));
  if (status >= 400) {
    const said = text === null ? `[${size} of ${nameOf(type)}]` : text.trim();
    const length = read.isAll ? "" : ` with ${size}`;
    throw new Error(`${host} answered ${status}${length}${read.bytes.length === 0 ? "." : `: ${said}`}`);
  }
  if (read.bytes.length === 0 && read.isAll) return { status, body: null };
  if (text === null) return { status, body: `[${size} of ${nameOf(type)}]` };
  if (read.isAll) return { status, body: parseJson(text, type) ?? text };
  return new Beginning(JSON.stringify({ status, body: text.slice(0, Beginning.ENOUGH) }), read.bytes.length);
}

async function readBytes({ body }: Response): Promise<ReadBytes> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of body ?? []) parts.push(part);
    return { bytes: Buffer.concat(parts), isAll: true };
  } catch (error) {
    // The call has been made, so an oversized body must not hide its status.
    if (!(error instanceof OutboundError) || error.kind !== "too_large") throw error;
    return { bytes: Buffer.concat(parts), isAll: false };
  }
}

function nameOf(type: string): string {
  return type.trim() || "an unknown type";
}

/** Returns the text; `null` for a body that is not text. */
function decode({ bytes, isAll }: ReadBytes, type: string, parameters: string): string | null {
  const isText =
    /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:javascript|x-www-form-urlencoded|x-ndjson)$/;
  if (type !== "" && !isText.test(type)) return null;
  const charset = /charset="?([\w-]+)/.exec(parameters)?.[1] ?? "utf-8";
  // Truncated text may end within a character.
  const options = { stream: !isAll };
  try {
    return new TextDecoder(charset, { fatal: type === "" }).decode(bytes, options);
  } catch {
    return type === "" ? null : new TextDecoder().decode(bytes, options);
  }
}

/** Returns the parsed text; `undefined` for text that is not JSON, whatever its content type says. */
function parseJson(text: string, type: string): JsonValue | undefined {
  if (type.trim() !== "" && !/[/+]json$/.test(type.trim())) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
