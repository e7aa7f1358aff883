// Proxies for outgoing requests, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY name them for curl and most programs.

import type { Hidden } from "./hidden.ts";

export interface Proxies {
  /** Proxy for https URLs, perhaps with a password; `null` for none. */
  readonly https: Hidden<URL> | null;
  /** Proxy for http URLs. */
  readonly http: Hidden<URL> | null;
  /** Hosts that are reached directly: names with their subdomains, addresses, ranges, each perhaps with a port; `*`. */
  readonly direct: readonly string[];
}

export const NO_PROXIES: Proxies = { https: null, http: null, direct: [] };

/** A request failed at the proxy, so that its server was never asked. The message names no password. */
export class ProxyFailure extends Error {
  /** For logs: `PROXY_` and the status or the code of the connection's error. */
  readonly code: string;
  /** Whether another attempt may succeed. */
  readonly isRetryable: boolean;

  constructor(proxy: URL, reason: number | string, options?: ErrorOptions) {
    const what =
      typeof reason === "number" ? `answered with the status ${reason}` : `cannot be reached (${reason})`;
    super(`The proxy ${proxy.host} ${what}`, options);
    this.name = "ProxyFailure";
    this.code = `PROXY_${reason}`;
    this.isRetryable = typeof reason === "string" || reason >= 500;
  }

  /** Returns the sentence for people who must not learn the proxy's address. */
  get publicReason(): string {
    const status = /^PROXY_(\d+)$/.exec(this.code)?.[1];
    return status === undefined
      ? "the server's proxy cannot be reached"
      : `the server's proxy refused the connection (status ${status})`;
  }
}
