// Sends every `fetch` of the process through the proxies of the environment, also those of tools in the
// configuration file. The outbound guard has its own connections (tools/outbound/connecting.ts).

import { Agent, Pool, ProxyAgent, setGlobalDispatcher } from "undici";
import type { Proxies } from "@colloquy/engine/internal/core/proxies";
import { proxyFor } from "@colloquy/engine/internal/tools/outbound/proxy-for";
import { connectTo, createTunnel } from "@colloquy/engine/internal/tools/outbound/proxy-tunnel";

export function useProxies(proxies: Proxies): void {
  setGlobalDispatcher(
    new Agent({
      factory: (origin, options) => {
        const url = new URL(origin);
        const proxy = proxyFor(url, proxies);
        if (proxy === null) return new Pool(url, options);
        if (url.protocol === "https:") {
          return new Pool(url, { ...(options as Pool.Options), connect: createTunnel(proxy) });
        }
        return new ProxyAgent({
          uri: proxy.href,
          proxyTunnel: false,
          factory: (to, own) => new Pool(to, { ...(own as Pool.Options), connect: connectTo(proxy) }),
        });
      },
    }),
  );
}

/** Returns the proxy for requests to a URL, without its password; `null` if there is none. */
export function proxyNameOf(url: URL, proxies: Proxies): string | null {
  const proxy = proxyFor(url, proxies);
  return proxy === null ? null : `${proxy.protocol}//${proxy.host}`;
}
