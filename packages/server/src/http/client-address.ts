import { isIP, BlockList } from "node:net";
import type { FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Cached result of `addressKeyOf`. */
    addressKey?: string;
  }
}

/**
 * Returns the client's address according to trusted proxies; `undefined` for a disconnected client. For an
 * invalid forwarded value, returns the address of the proxy that sent it, because the client controls the
 * values further left.
 */
export function clientAddress(request: Pick<FastifyRequest, "ip" | "ips">): string | undefined {
  return request.ips?.findLast((address) => isIP(address) !== 0) ?? request.ips?.[0] ?? request.ip;
}

/** Returns the rate-limit key of the client's address. Computed once per request. */
export function addressKeyOf(request: FastifyRequest): string {
  return (request.addressKey ??= addressKey(clientAddress(request)));
}

/**
 * Returns the rate-limit key of an address: for IPv6 its /64 prefix, because customers get at least a /64
 * (RFC 6177). `undefined` stands for a disconnected client.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "";
  if (isIP(address) !== 6) return address;
  // Node accepts more zones than the library: `fe80::1%eth0.100`.
  const [withoutZone = ""] = address.split("%", 1);
  const parsed = ipaddr.process(withoutZone);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(":")}::/64`;
}

/** Returns a test for trusted proxies, given as addresses and CIDR ranges. */
export function trustedProxies(proxies: readonly string[]): (address: string | undefined) => boolean {
  if (proxies.length === 0) return () => false;
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = "", bits] = proxy.split("/");
    const family = familyOf(address);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => address !== undefined && isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
