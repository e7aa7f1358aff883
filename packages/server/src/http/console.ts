// The console's page and its files, as the build has left them. The page may do nothing but load files of this server and call it.

import fastifyStatic from "@fastify/static";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NotFound } from "../core/errors.ts";
import type { HttpApp } from "./routes/route-parts.ts";

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
  // No text becomes script or markup, whatever a library would like.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PROTECTED = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** What the build calls its files; none lies deeper. Anything else is not even looked for. */
const BUILT_NAME = /^\w[\w-]*(?:\.[\w-]+)+$/;
/** A year, in milliseconds: the name of a file changes with what is in it. */
const FOR_GOOD = { maxAge: 31_536_000_000, immutable: true, acceptRanges: false };
/** Its name stays, and a file of the same length and time may be another one, so it is sent whole each time. */
const EACH_TIME = { cacheControl: false, etag: false, lastModified: false, acceptRanges: false };

/** `directory` is where the build goes to; it may come to be while the service runs. */
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
