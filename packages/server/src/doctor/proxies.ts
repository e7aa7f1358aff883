// Says which of the configured servers are called through a proxy.

import type { Config } from "../config/config.ts";
import type { TokenIssuer } from "@colloquy/engine/internal/core/app-settings";
import { PROVIDER_URLS } from "@colloquy/engine/internal/core/provider-addresses";
import { proxyNameOf } from "../wiring/proxies.ts";
import { type Finding, ok } from "@colloquy/engine/internal/core/finding";

interface Target {
  /** Does not contain the URL, which may hold a key. */
  readonly name: string;
  readonly url: string;
  /** True for requests through the outbound guard, which reaches http servers directly. */
  readonly isGuarded?: boolean;
}

/** Returns a finding for each proxy; none if the environment names none. */
export function examineProxies(config: Config): readonly Finding[] {
  const { http, https } = config.proxies;
  if (http === null && https === null) return [];
  const routes = targetsOf(config).map(({ name, url, isGuarded }) => {
    const parsed = new URL(url);
    const isDirect = isGuarded === true && parsed.protocol === "http:";
    return { name, by: isDirect ? null : proxyNameOf(parsed, config.proxies) };
  });
  const named = (by: string | null): string => {
    const names = [...new Set(routes.filter((route) => route.by === by).map(({ name }) => name))];
    return names.length === 0 ? "nothing that is configured" : names.join(", ");
  };
  const proxies = [https, http].flatMap((proxy) => {
    const url = proxy?.reveal();
    return url === undefined ? [] : [`${url.protocol}//${url.host}`];
  });
  return [
    ...[...new Set(proxies)].map((by) => ok("proxy", `${by} is used for ${named(by)}.`)),
    ok("proxy", `Without a proxy: ${named(null)}.`),
  ];
}

function targetsOf({ apps, chains, operators, providers }: Config): readonly Target[] {
  return [
    ...Object.entries(providers).flatMap(([name, { kind, baseURL }]) => {
      const url =
        baseURL ?? (kind in PROVIDER_URLS ? PROVIDER_URLS[kind as keyof typeof PROVIDER_URLS] : null);
      return url === null ? [] : [{ name: `provider ${name}`, url }];
    }),
    ...Object.values(apps).flatMap(({ tools, users }) => [
      ...tools.sources.flatMap(({ plugin, label, settings }) =>
        (plugin.addresses?.(settings.reveal()) ?? []).map((address) => ({ name: label, ...address })),
      ),
      ...(users === null ? [] : issuerTargets(users)),
    ]),
    ...(operators === null ? [] : issuerTargets(operators)),
    ...chains.map(({ id, rpcURL }) => ({ name: `chain ${id}`, url: rpcURL.reveal() })),
  ];
}

function issuerTargets({ issuer, jwksUri, keys }: TokenIssuer): readonly Target[] {
  return keys === null ? [{ name: `issuer ${issuer}`, url: jwksUri ?? issuer }] : [];
}
