// Reads an OpenAPI document of version 3.0 or 3.1, in JSON or YAML, from a configured file or URL.

import { readFile, stat } from "node:fs/promises";
import type SwaggerParser from "@apidevtools/swagger-parser";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  messageOf,
  type SourceContext,
} from "@colloquy/engine/tool-source";
import { listAt, objectAt, textAt } from "./fields.ts";

export interface OpenApiDocument {
  /** The document with unresolved references. YAML aliases may create cycles, so traverse it with a limit. */
  readonly content: JsonObject;
  /** The URL of the document; `null` for a file. */
  readonly location: URL | null;
}

/** Maximum bytes of a fetched document, and of a file of the operator: GitHub's has 13 MB. */
const maximumBytes = 12 * 1_024 * 1_024;
const maximumFileBytes = 64 * 1_024 * 1_024;
const timeoutMs = 15_000;

/**
 * @param source absolute path, or http(s) URL.
 * @throws Error that says what is wrong with the document, or why it cannot be read.
 */
export async function readDocument(
  source: string,
  outbound: Pick<SourceContext, "guardedFetch">,
  signal: AbortSignal,
): Promise<OpenApiDocument> {
  if (!/^https?:\/\//i.test(source)) return await readDocumentFile(source, signal);
  const location = new URL(source);
  return { content: await parse(await fetchText(location, outbound, signal)), location };
}

/** Like `readDocument`, for an absolute path. */
export async function readDocumentFile(path: string, signal: AbortSignal): Promise<OpenApiDocument> {
  return { content: await parse(await readText(path, signal)), location: null };
}

async function readText(path: string, signal: AbortSignal): Promise<string> {
  const file = await stat(path);
  if (!file.isFile()) throw new Error("It is not a file.");
  if (file.size > maximumFileBytes) throw new Error(`It is larger than ${maximumFileBytes} bytes.`);
  return await readFile(path, { encoding: "utf8", signal });
}

async function fetchText(
  location: URL,
  outbound: Pick<SourceContext, "guardedFetch">,
  signal: AbortSignal,
): Promise<string> {
  const headers = { accept: "application/json, application/yaml, */*;q=0.5" };
  const limits = { allowPrivate: location.origin, maxBytes: maximumBytes, timeoutMs, signal };
  const response = await outbound.guardedFetch(location, { headers }, limits);
  if (response.status === 200) return await response.text();
  await response.body?.cancel();
  throw new Error(`${location.host} answered ${response.status} instead of the document.`);
}

async function parse(text: string): Promise<JsonObject> {
  const json = text.trimStart().startsWith("{");
  // Loaded on demand, because only some Apps have a document.
  const { default: Parser } = await import("@apidevtools/swagger-parser");
  const content = await new Parser()
    .parse(json ? "document.json" : "document.yaml", {
      // The parser gets this text and no resolvers, so it cannot read external references.
      resolve: {
        external: false,
        file: false,
        http: false,
        given: { order: 1, canRead: true, read: () => text },
      },
    } as SwaggerParser.Options)
    .catch((error: unknown) => {
      throw new Error(`It cannot be parsed: ${reasonOf(error)}`, { cause: error });
    });
  if (!isJsonObject(content) || content["openapi"] === undefined) {
    throw new Error("It is not an OpenAPI document of version 3.0 or 3.1. Convert it to one of these.");
  }
  return content;
}

/** Returns the first line of the parser's error, without the placeholder file name. */
function reasonOf(error: unknown): string {
  const [line = ""] = messageOf(error).split("\n");
  return line.replace(/^Error parsing \S+: /, "").replace(/"?\S*document\.(?:json|yaml)"?/, "it");
}

/**
 * Returns the configured URL, or else the document's first server.
 *
 * @throws Error if there is none, or if a fetched document names a server of another origin: otherwise,
 * anybody who can change the document could obtain the App's keys.
 */
export function baseUrl(configured: string | null, { content, location }: OpenApiDocument): URL {
  if (configured !== null) return new URL(configured);
  const [first = { url: "/" }] = listAt(content, "servers");
  const url = URL.parse(serverUrl(first), location ?? undefined);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('It names no server. Set "baseURL".');
  }
  if (location !== null && url.origin !== location.origin) {
    throw new Error(
      `Its server is ${url.origin}, not the origin of the document. Set "baseURL" if that is intended.`,
    );
  }
  return url;
}

/** Returns true if an operation has its own servers, and none of them is the base URL. */
export function isElsewhere(servers: readonly JsonValue[], base: URL, location: URL | null): boolean {
  if (servers.length === 0) return false;
  const withoutSlash = (url: URL): string => url.href.replace(/\/$/, "");
  return !servers.some((server) => {
    const url = URL.parse(serverUrl(server), location ?? base);
    return url !== null && withoutSlash(url) === withoutSlash(base);
  });
}

function serverUrl(server: JsonValue): string {
  if (!isJsonObject(server)) return "";
  const variables = objectAt(server, "variables");
  return textAt(server, "url").replaceAll(
    /\{([^{}]+)\}/g,
    (place, name: string) => textAt(objectAt(variables, name), "default") || place,
  );
}
