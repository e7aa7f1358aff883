import type { Registry } from "prom-client";
import { loadOnce } from "../core/load-once.ts";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";

const HIDDEN = { hide: true };
const CACHED = "public, max-age=3600";

/** Serves the OpenAPI document and its page, built at the first request: they take 100 ms and megabytes to load. */
export function referenceRoutes(app: HttpApp, parts: RouteParts, register: Registry): void {
  const reference = loadOnce(async () =>
    (await import("./reference-document.ts")).buildReference(parts, register),
  );

  app.get("/openapi.json", { schema: HIDDEN }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send((await reference()).document),
  );
  app.get("/docs", { schema: HIDDEN }, async (_request, reply) => {
    const { page, policy } = await reference();
    return reply.type("text/html; charset=utf-8").header("content-security-policy", policy).send(page);
  });
  app.get("/docs/scalar.js", { schema: HIDDEN }, async (_request, reply) =>
    reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", CACHED)
      .send((await reference()).script),
  );
}
