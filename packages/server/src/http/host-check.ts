import type { IncomingMessage } from "node:http";
import { InvalidRequest, ServiceError } from "../core/errors.ts";
import { isLoopbackName } from "../core/loopback.ts";
import type { HttpConfig } from "./http-config.ts";

/** Answers what is wrong with the host that a request names, `null` when nothing is. */
export type HostCheck = (message: IncomingMessage) => ServiceError | null;

/**
 * On a loopback bind only loopback names and the allowed ones may be asked for: a page of a stranger whose name was
 * pointed at 127.0.0.1 (DNS rebinding) is not "same origin" to us (contract section 6).
 */
export function hostCheck(config: Pick<HttpConfig, "loopback" | "allowedHosts">): HostCheck {
  const closed = config.loopback;
  const allowed = new Set(config.allowedHosts.map((name) => name.toLowerCase()));
  // The name of the last request that passed: nearly every client sends the same one all the time.
  let known: string | undefined;
  return (message) => {
    if (hasSecondHost(message.rawHeaders)) return twoHosts();
    const host = requestHost(message);
    if (host === known && host !== undefined) return null;
    if (host === undefined) {
      // A request of HTTP/1.1 must have one (RFC 9112 section 3.2), and browsers, who could be tricked, always send it.
      return message.httpVersion === "1.0" && !closed ? null : missingHost();
    }
    if (closed && !isAllowed(host.toLowerCase(), allowed)) return foreignHost();
    known = host;
    return null;
  };
}

/** The host that is asked for; that of an absolute request target goes first (RFC 9112 section 3.2.2). */
export function requestHost(message: IncomingMessage): string | undefined {
  const target = message.url ?? "";
  if (!target.startsWith("/") && target.includes("://")) {
    return target.slice(target.indexOf("://") + 3).split(/[/?#]/, 1)[0];
  }
  return message.headers.host;
}

/** Whether the field stands more than once: whoever stands before this server may have read the other one (RFC 9112 section 3.2). */
function hasSecondHost(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count > 1;
}

function isAllowed(host: string, allowed: ReadonlySet<string>): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  // A name may end with the root's dot (RFC 1034 section 3.1).
  const name = bracketed ?? plain?.replace(/\.$/, "");
  if (name === undefined) return false;
  return isLoopbackName(name) || allowed.has(name);
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
    "This server is bound to this machine alone and answers to loopback names. Ask for localhost, or name the host in " +
      "COLLOQUY_ALLOWED_HOSTS.",
  );
}
