// An edge over in-memory services, with a clock that advances only on request and a readable log.

import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { Registry } from "prom-client";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { RateCounters } from "../../core/ports/driven/rate-counters.ts";
import { DocumentedApi } from "../../../test/documented-api.ts";
import { expectDocumented } from "../../../test/documented-traffic.ts";
import { Hidden } from "../../core/hidden.ts";
import { loadOnce } from "../../core/load-once.ts";
import { DEFAULT_RATE_LIMITS, type RateLimits } from "../../core/rate-limits.ts";
import { aiSdkRoutes } from "../../protocols/ai-sdk/routes.ts";
import { buildHttp, type HttpParts } from "../app.ts";
import type { HttpConfig } from "../edge.ts";
import type { HttpApp } from "../routes/route-parts.ts";
import { inMemoryServices, type InMemoryServices } from "./in-memory-services.ts";

export const SESSION = "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11";
export const OTHER_SESSION = "0c5b1d8e-2f5e-4a35-8f0a-3d9a4cf00b2e";
export const WALLET = "0x8ba1f109551bd432803012645ac136ddd64dba72";

type Method = NonNullable<InjectOptions["method"]>;

export interface TestEdge {
  readonly app: HttpApp;
  readonly services: InMemoryServices;
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[];
  /** Advances the clock by this many milliseconds. */
  pass(milliseconds: number): void;
  /** Sends a request with `X-Session-Id: SESSION`, unless its headers say otherwise. */
  send(method: Method, url: string, options?: InjectOptions): Promise<LightMyRequestResponse>;
}

export type EdgeChanges = Partial<Omit<HttpConfig, "rateLimits">> & {
  readonly rateLimits?: Partial<RateLimits>;
};

/** The service's OpenAPI document, including the admin operations. */
const ownDocument = loadOnce(async () => {
  const admin = { service: {} as never, key: new Hidden("k") };
  const answer = await testEdge({}, null, undefined, admin).app.inject("/openapi.json");
  return new DocumentedApi(answer.json());
});

/** `rateCounters`, `pages` and `admin` as in `HttpParts`. */
export function testEdge(
  changes: EdgeChanges = {},
  rateCounters: RateCounters | null = null,
  pages?: HttpParts["pages"],
  admin: HttpParts["admin"] = null,
): TestEdge {
  const services = inMemoryServices();
  const lines: { level: string; fields: object; message: string }[] = [];
  let time = 0;
  const note = (level: string) => (fields: object, message: string) => lines.push({ level, fields, message });
  const logger: Logger = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  const config: HttpConfig = {
    loopback: true,
    corsOrigins: [],
    allowedHosts: [],
    trustedProxies: [],
    signInDomains: [],
    bodyBytes: 256 * 1024 * 1024,
    ...changes,
    rateLimits: { ...DEFAULT_RATE_LIMITS, ...changes.rateLimits },
  };
  const app = buildHttp({
    services,
    config,
    logger,
    register: new Registry(),
    clock: { monotonic: () => time },
    rateCounters,
    admin,
    protocols: [aiSdkRoutes({ sessionBytes: 1024 })],
    ...(pages !== undefined && { pages }),
  });
  return {
    app,
    services,
    lines,
    pass(milliseconds) {
      time += milliseconds;
    },
    send: async (method, url, options = {}) => {
      const sent = { "x-session-id": SESSION, ...options.headers };
      const answer = await app.inject({ method, url, ...options, headers: sent });
      const { statusCode: status, headers, body: text } = answer;
      expectDocumented(await ownDocument(), { method, target: url, sent, body: null, status, headers, text });
      return answer;
    },
  };
}
