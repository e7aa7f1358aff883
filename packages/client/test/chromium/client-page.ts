// A page with the built client, served by the proxy under the origin of the service.

import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { bundle } from "../../build/build-package.ts";
import type * as colloquy from "../../src/index.ts";
import type { createEventStreamParser } from "../../src/event-stream-parser.ts";
import type { Fault, FaultProxy } from "../fault-proxy.ts";

/** Globals of the page. */
export interface InPage {
  readonly colloquy: typeof colloquy;
  readonly createEventStreamParser: typeof createEventStreamParser;
  /** The followed conversation, and every event it has reported since. */
  session: colloquy.LiveSession;
  updates: colloquy.SessionUpdate[];
}

const HTML = `<!doctype html><html lang="en"><head><title>Client</title><link rel="icon" href="data:,"></head>
<body><script type="module" src="/page.js"></script></body></html>`;
const PAGE = `import * as colloquy from "/client.js";
import { createEventStreamParser } from "/parser.js";
Object.assign(globalThis, { colloquy, createEventStreamParser });`;
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:";

/** What the proxy answers itself, by path. */
export type ClientPage = ReadonlyMap<string, Fault>;

export async function buildClientPage(): Promise<ClientPage> {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-client-page-"));
  try {
    const [client, parser] = [join(folder, "client.js"), join(folder, "parser.js")];
    await bundle(client, { minify: true });
    // The parser is internal to the package.
    await build({
      entryPoints: [join(import.meta.dirname, "../../src/event-stream-parser.ts")],
      outfile: parser,
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
    });
    return new Map([
      ["/", answer("text/html; charset=utf-8", HTML)],
      ["/page.js", answer("text/javascript", PAGE)],
      ["/client.js", answer("text/javascript", await readFile(client, "utf8"))],
      ["/parser.js", answer("text/javascript", await readFile(parser, "utf8"))],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes the proxy serve the page, and treat all other requests as `plan` says. */
export function servePage(proxy: FaultProxy, files: ClientPage, plan: FaultProxy["plan"] = () => null): void {
  proxy.plan = (request) => files.get(request.path) ?? plan(request);
}

/** Makes the proxy serve the page, and forget earlier requests. Returns the id of a new conversation. */
export function beginTest(proxy: FaultProxy, files: ClientPage): string {
  servePage(proxy, files);
  proxy.seen.length = 0;
  proxy.heads.length = 0;
  return randomUUID();
}

function answer(type: string, body: string): Fault {
  const headers = { "content-type": type, "content-security-policy": POLICY };
  return { status: 200, headers, body };
}
