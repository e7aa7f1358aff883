// Determines the base URL of a document's service. Requests to it carry keys, so the operator must have named
// it.

import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { OpenApiDocument } from "./document.ts";
import { listAt, objectAt, textAt } from "./fields.ts";

/**
 * Returns the configured URL, else the document's first server.
 *
 * @throws Error if there is none, or if a fetched document names a server of another origin: otherwise,
 *   anybody who can change the document could obtain the App's keys.
 */
export function baseUrl(configured: string | null, { content, location }: OpenApiDocument): URL {
  if (configured !== null) return new URL(configured);
  const [first = { url: "/" }] = listAt(content, "servers");
  const url = URL.parse(serverUrl(first), location ?? undefined);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error('It does not say where its server is. Set "baseURL".');
  }
  if (location !== null && url.origin !== location.origin) {
    throw new Error(
      `Its server is ${url.origin}, which is not where it came from. Set "baseURL" if that is right.`,
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
