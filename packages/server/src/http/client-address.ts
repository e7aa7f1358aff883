import { isIP, BlockList } from "node:net";
import type { FastifyRequest } from "fastify";

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

/**
 * What an address counts as: one customer has a whole /64 of IPv6 (RFC 6177), so counting single addresses would count
 * nobody. `undefined` is the address of a client that has gone already.
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "";
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("%", 1)[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - last.length)).fill("0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

/** Answers whether an address is among the trusted proxies: addresses and CIDR ranges, as the configuration has them. */
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
