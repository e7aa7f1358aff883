// One hop of an outbound request: its validation, and the next request after a redirect.

import { OutboundError } from "./outbound-error.ts";

export interface OutboundRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
}

/** Headers of the connection, which only fetch and the guard may set. */
const connectionHeaders = (
  "connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer " +
  "transfer-encoding upgrade"
).split(" ");

/** Headers that may be sent to another origin. Any other header may hold a key, whatever its name. */
const harmlessHeaders = new Set(
  "accept accept-language content-language content-type idempotency-key user-agent".split(" "),
);

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * Parts of a request that the caller sets. The body is text, because it may have to be sent again after a
 * redirect.
 */
export type OutboundInit = Pick<RequestInit, "method" | "headers"> & { readonly body?: string | null };

/** @throws OutboundError (`refused`) if the URL or a header cannot be sent. */
export function firstRequest(url: string | URL, init: OutboundInit): OutboundRequest {
  const parsed = URL.parse(String(url));
  if (parsed === null) throw new OutboundError("refused", "The request was refused: its URL is not valid.");
  const headers = readHeaders(init.headers);
  if (!headers.has("user-agent")) headers.set("user-agent", "colloquy");
  return { url: parsed, method: (init.method ?? "GET").toUpperCase(), headers, body: init.body ?? null };
}

/** @throws OutboundError (`refused`) for a URL that is never allowed. */
export function checkUrl(url: URL, isConfigured: boolean): void {
  const refused = (reason: string): OutboundError =>
    new OutboundError("refused", `The request to ${url.host || url.protocol} was refused: ${reason}.`);
  if (url.protocol !== "https:" && !(isConfigured && url.protocol === "http:")) {
    throw refused("only https URLs may be requested");
  }
  if (url.username !== "" || url.password !== "") {
    throw refused("its URL must not hold a user name or a password");
  }
}

/** Returns the request after a redirect (Fetch standard, HTTP-redirect fetch); `null` if there is none. */
export function redirected(
  request: OutboundRequest,
  status: number,
  location: string | null,
): OutboundRequest | null {
  if (!redirectStatuses.has(status) || location === null) return null;
  const url = URL.parse(location, request.url);
  if (url === null) {
    throw new OutboundError("failed", `${request.url.host} redirects to an invalid URL.`);
  }
  const headers =
    url.origin === request.url.origin
      ? request.headers
      : onlyHeaders(request.headers, (name) => harmlessHeaders.has(name));
  const becomesGet =
    (status === 303 && request.method !== "GET" && request.method !== "HEAD") ||
    ((status === 301 || status === 302) && request.method === "POST");
  if (!becomesGet) return { ...request, url, headers };
  const withoutBody = onlyHeaders(headers, (name) => !name.startsWith("content-"));
  return { url, method: "GET", headers: withoutBody, body: null };
}

function onlyHeaders(headers: Headers, keep: (name: string) => boolean): Headers {
  return new Headers([...headers].filter(([name]) => keep(name)));
}

function readHeaders(init: OutboundInit["headers"]): Headers {
  let headers: Headers;
  try {
    headers = new Headers(init);
  } catch {
    // Omit the cause: it quotes the value, which may be a key.
    throw new OutboundError("refused", "The request was refused: a header has invalid characters.");
  }
  for (const name of connectionHeaders) headers.delete(name);
  return headers;
}
