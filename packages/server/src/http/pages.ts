// Serves the pages for people: the console, and the API reference. They may only load files from this server
// and call this server.

import { existsSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { Registry } from "prom-client";
import { NotFound } from "../core/errors.ts";
import { loadOnce } from "../core/load-once.ts";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";

const HIDDEN = { hide: true };
const PAGE = "index.html";
const FILES = "assets";
const NOT_BUILT =
  'The console is not built. Run "npm run build -w packages/console" on the server, and load this page again; the interface works without it, see /docs.';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  // Trusted Types: no text becomes script or markup.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PROTECTED = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** File names of the build, without subfolders. Others are not looked up. */
const BUILT_NAME = /^\w[\w-]*(?:\.[\w-]+)+$/;
/** A year in milliseconds, because file names change with their content. */
const FOR_GOOD = { maxAge: 31_536_000_000, immutable: true, acceptRanges: false };
/**
 * The page keeps its name, and its size and time do not identify its content, so it is sent in full each
 * time.
 */
const EACH_TIME = { cacheControl: false, etag: false, lastModified: false, acceptRanges: false };

/** Serves the console from `directory`, the build's output, which may appear while the service runs. */
export function consoleRoutes(app: HttpApp, directory: string): void {
  const root = join(directory, FILES);
  void app.register(fastifyStatic, {
    root: directory,
    serve: false,
    preCompressed: true,
    dotfiles: "ignore",
  });

  app.get("/", { schema: HIDDEN }, (_request, reply) => {
    if (!existsSync(join(directory, PAGE))) throw new NotFound("console_not_built", NOT_BUILT);
    return reply.headers(PROTECTED).header("cache-control", "no-cache").sendFile(PAGE, EACH_TIME);
  });
  app.get<{ Params: { name: string } }>(`/${FILES}/:name`, { schema: HIDDEN }, ({ params }, reply) => {
    if (!BUILT_NAME.test(params.name)) return reply.callNotFound();
    return reply.headers(PROTECTED).sendFile(params.name, root, FOR_GOOD);
  });
}

/**
 * Serves the OpenAPI document and its page. Both are built at the first request, because loading them takes
 * 100 ms and megabytes.
 */
export function referenceRoutes(app: HttpApp, parts: RouteParts, register: Registry): void {
  const reference = loadOnce(async () =>
    (await import("./openapi-document.ts")).buildReference(parts, register),
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
      .header("cache-control", "public, max-age=3600")
      .send((await reference()).script),
  );
}
