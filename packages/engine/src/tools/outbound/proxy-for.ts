// Decides which requests use a proxy, like curl.

import { BlockList, isIP } from "node:net";
import { isLoopbackName } from "../../core/loopback.ts";
import type { Proxies } from "../../core/proxies.ts";

/** Returns the proxy for a URL; `null` if its server is reached directly. This machine always is. */
export function proxyFor(url: URL, proxies: Proxies): URL | null {
  const proxy = url.protocol === "https:" ? proxies.https : proxies.http;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (proxy === null || isLoopbackName(host)) return null;
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  return proxies.direct.some((entry) => matches(entry, host, port)) ? null : proxy.reveal();
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(host, entry);
  const [, name = "", ownPort] =
    /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  if (ownPort !== undefined && ownPort !== port) return false;
  const domain = name.replace(/^\*?\./, "").toLowerCase();
  return domain !== "" && (host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`)));
}

function isInRange(host: string, range: string): boolean {
  const [network = "", length = ""] = range.split("/");
  const [family, most] = isIP(network) === 6 ? (["ipv6", 128] as const) : (["ipv4", 32] as const);
  if (isIP(host) === 0 || isIP(network) === 0 || !/^\d{1,3}$/.test(length) || Number(length) > most)
    return false;
  const list = new BlockList();
  list.addSubnet(network, Number(length), family);
  return list.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
}
