import type { IncomingMessage } from "node:http";
import { InvalidRequest, ServiceError } from "../core/errors.ts";
import { isLoopbackName } from "../core/loopback.ts";
import type { HttpConfig } from "./http-config.ts";

/** Returns the problem with a request's host, `null` if there is none. */
export type HostCheck = (message: IncomingMessage) => ServiceError | null;

/** Probes and scrapers use node addresses, so these paths accept any Host. */
const FOR_ANY_HOST: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Refuses requests for foreign hosts, on a loopback bind and wherever allowed hosts are configured, against DNS rebinding
 * (contract section 6).
 */
export function hostCheck(config: Pick<HttpConfig, "loopback" | "allowedHosts">): HostCheck {
  const closed = config.loopback || config.allowedHosts.length > 0;
  const isOwn = ownHosts(config);
  // The last host that passed: nearly all clients send the same one.
  let known: string | undefined;
  return (message) => {
    if (hasSecondHost(message.rawHeaders)) return twoHosts();
    const host = requestHost(message);
    if (host === known && host !== undefined) return null;
    if (host === undefined) {
      // HTTP/1.1 requires it (RFC 9112 section 3.2), and browsers, the only rebinding victims, always send it.
      return message.httpVersion === "1.0" && (!closed || isForAnyHost(message)) ? null : missingHost();
    }
    if (closed && !isOwn(host)) return isForAnyHost(message) ? null : foreignHost();
    known = host;
    return null;
  };
}

/** Returns a test for loopback and allowed hosts, with or without a port. */
export function ownHosts({ allowedHosts }: Pick<HttpConfig, "allowedHosts">): (host: string) => boolean {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  return (host) => {
    const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
    // Names may end with a dot (RFC 1034 section 3.1).
    const name = bracketed ?? plain?.replace(/\.$/, "");
    return name !== undefined && (isLoopbackName(name) || allowed.has(name));
  };
}

/** Returns the requested host; an absolute request target wins (RFC 9112 section 3.2.2). */
export function requestHost(message: IncomingMessage): string | undefined {
  const target = message.url ?? "";
  if (!target.startsWith("/") && target.includes("://")) {
    return target.slice(target.indexOf("://") + 3).split(/[/?#]/, 1)[0];
  }
  return message.headers.host;
}

/** Returns true if the field was sent twice: a proxy may have used the other value (RFC 9112 section 3.2). */
function hasSecondHost(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count > 1;
}

function isForAnyHost({ url = "" }: IncomingMessage): boolean {
  return FOR_ANY_HOST.has(url.replace(/^[^/?#]+:\/\/[^/?#]*/, "").split("?", 1)[0] ?? "");
}

function missingHost(): ServiceError {
  return new InvalidRequest("host_missing", "Send the header Host with the name of this server.");
}

function twoHosts(): ServiceError {
  return new InvalidRequest("http_invalid", "Send the header Host once: this request has several.");
}

function foreignHost(): ServiceError {
  return new ServiceError(
    403,
    "host_not_allowed",
    "This server does not answer to that host. Ask for localhost on its machine, or add the host to COLLOQUY_ALLOWED_HOSTS.",
  );
}
