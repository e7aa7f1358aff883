// Serves the pages for people: the console, the guide, and the API reference. They may only load files from
// this server and call this server.

import { existsSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { Registry } from "prom-client";
import { NotFound } from "@colloquy/engine/internal/core/errors";
import { loadOnce } from "@colloquy/engine/internal/core/load-once";
import { type HttpApp, PUBLIC, type RouteParts } from "./routes/route-parts.ts";
import type { PublicPage } from "@colloquy/engine/internal/apps/public-page";

const UNDOCUMENTED = { config: PUBLIC, schema: { hide: true } };
const PAGE = "index.html";
const FILES = "assets";
const NOT_BUILT =
  'The console is not built. Run "npm run build -w packages/console" on the server, and load this page again; the interface works without it, see /docs.';

const GUIDE_NOT_BUILT =
  'The guide is not built. In a clone run "npm ci --prefix site && npm run site", and load this page again; its texts are in the folder docs.';

/** Sources that a page may use beyond this server. */
type Allowed = Awaited<ReturnType<PublicPage["allowed"]>>;

const ownFilesAnd = ({ connect, images }: Allowed): string[] => [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Files of messages are fetched and shown as blobs.
  ["img-src 'self' blob:", ...images].join(" "),
  ["connect-src 'self'", ...connect].join(" "),
  "font-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];
const OWN_FILES_ONLY = ownFilesAnd({ connect: [], images: [] });
/** Trusted Types: no text becomes script or markup. */
const NO_MARKUP = ["require-trusted-types-for 'script'", "trusted-types 'none'"];
const POLICY = [...OWN_FILES_ONLY, ...NO_MARKUP].join("; ");
/** The guide needs `data:` icons in its style sheet and inline styles for code colors. Its scripts are files. */
const GUIDE_POLICY = [...OWN_FILES_ONLY, "style-src-attr 'unsafe-inline'"]
  .join("; ")
  .replace("img-src 'self' blob:", "img-src 'self' data:");

const PROTECTED = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** File names of the build, without subfolders. Others are not looked up. */
const BUILT_NAME = /^\w[\w-]*(?:\.[\w-]+)+$/;
/** A part of a path in the guide. */
const GUIDE_NAME = /^[\w@][\w@.-]*$/;
/** A year in milliseconds, because file names change with their content. */
const FOR_GOOD = { maxAge: 31_536_000_000, immutable: true, acceptRanges: false };
/** The page is never cached: its name stays the same across versions, and its size and time do not identify its content. */
const EACH_TIME = { cacheControl: false, etag: false, lastModified: false, acceptRanges: false };

/** Outputs of builds, which may appear while the service runs. */
export interface PageDirectories {
  readonly console: string;
  readonly guide: string;
}

/** Serves console and guide. */
export function pageRoutes(
  app: HttpApp,
  { console: consoleDirectory, guide }: PageDirectories,
  publicPage: PublicPage,
): void {
  void app.register(fastifyStatic, {
    root: consoleDirectory,
    serve: false,
    preCompressed: true,
    dotfiles: "ignore",
  });
  consoleRoutes(app, consoleDirectory, publicPage);
  guideRoutes(app, guide);
}

function consoleRoutes(app: HttpApp, directory: string, publicPage: PublicPage): void {
  const root = join(directory, FILES);
  app.get("/", UNDOCUMENTED, async (_request, reply) => {
    if (!existsSync(join(directory, PAGE))) throw new NotFound("console_not_built", NOT_BUILT);
    // Each time, because the configuration changes. The page's own policy counts for all that it loads.
    const policy = [...ownFilesAnd(await publicPage.allowed()), ...NO_MARKUP].join("; ");
    return reply
      .headers({ ...PROTECTED, "content-security-policy": policy, "cache-control": "no-cache" })
      .sendFile(PAGE, EACH_TIME);
  });
  app.get<{ Params: { name: string } }>(`/${FILES}/:name`, UNDOCUMENTED, ({ params }, reply) => {
    if (!BUILT_NAME.test(params.name)) return reply.callNotFound();
    return reply.headers(PROTECTED).sendFile(params.name, root, FOR_GOOD);
  });
}

/** Serves the documentation that site/build.ts built. */
function guideRoutes(app: HttpApp, directory: string): void {
  app.get("/guide", UNDOCUMENTED, (_request, reply) => reply.redirect("/guide/", 308));
  app.get<{ Params: { "*": string } }>("/guide/*", UNDOCUMENTED, ({ params }, reply) => {
    if (!existsSync(join(directory, PAGE))) throw new NotFound("guide_not_built", GUIDE_NOT_BUILT);
    const path = params["*"];
    const isNamed = path === "" || path.split("/").every((part) => GUIDE_NAME.test(part));
    const file = path === "" ? PAGE : /\.\w+$/.test(path) ? path : `${path}.html`;
    const isThere = isNamed && existsSync(join(directory, file));
    reply.headers({ ...PROTECTED, "content-security-policy": GUIDE_POLICY });
    if (isThere && path.startsWith(`${FILES}/`)) return reply.sendFile(file, directory, FOR_GOOD);
    return reply
      .code(isThere ? 200 : 404)
      .header("cache-control", "no-cache")
      .sendFile(isThere ? file : "404.html", directory, EACH_TIME);
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

  app.get("/openapi.json", UNDOCUMENTED, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send((await reference()).document),
  );
  app.get("/docs", UNDOCUMENTED, async (_request, reply) => {
    const { page, policy } = await reference();
    return reply.type("text/html; charset=utf-8").header("content-security-policy", policy).send(page);
  });
  app.get("/docs/scalar.js", UNDOCUMENTED, async (_request, reply) =>
    reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", "public, max-age=3600")
      .send((await reference()).script),
  );
}
