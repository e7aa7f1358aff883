// The document and its rendered form are asked for seldom and cost a hundred milliseconds and several megabytes to load, so
// that happens when somebody asks.

import type { Registry } from "prom-client";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";

const CACHED = "public, max-age=3600";
/** The page may load nothing but what this server serves, and call nothing else. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function referenceRoutes(app: HttpApp, parts: RouteParts, register: Registry): void {
  let loaded: ReturnType<typeof load> | null = null;
  const load = async () => (await import("./reference-document.ts")).buildReference(parts, register);
  const reference = () => (loaded ??= load());

  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send((await reference()).document),
  );
  app.get("/docs", { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", PAGE_POLICY)
      .send((await reference()).page),
  );
  app.get("/docs/scalar.js", { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", CACHED)
      .send((await reference()).script),
  );
}
