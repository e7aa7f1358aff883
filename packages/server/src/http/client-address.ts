import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { addressKey } from "./address-key.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What `addressKeyOf` has returned. */
    addressKey?: string;
  }
}

/**
 * Returns the address of the client that trusted proxies name, `undefined` for one that has gone already. A forwarded value that
 * is no IP address is ignored: the proxy that sent it stands in, and never what the client itself claims further left.
 */
export function clientAddress(request: Pick<FastifyRequest, "ip" | "ips">): string | undefined {
  return request.ips?.findLast((address) => isIP(address) !== 0) ?? request.ips?.[0] ?? request.ip;
}

/** Returns what the client's address counts as. Computed once a request. */
export function addressKeyOf(request: FastifyRequest): string {
  return (request.addressKey ??= addressKey(clientAddress(request)));
}
