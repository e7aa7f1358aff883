// Enforces which folders may import which (docs/architecture.md), and that there are no import cycles. Reads
// every import statement. A new folder needs an entry in `FOLDERS`.

import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** Folders that each folder of the server may import, in addition to itself and the protocol; "*" allows all. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  http: ["core"],
  sessions: ["core", "turns"],
  turns: ["core"],
  schemas: ["core"],
  models: ["core"],
  tools: ["core"],
  apps: ["core"],
  admin: ["core"],
  store: ["core"],
  bus: ["core"],
  // Foreign protocols, which use the HTTP layer of the native API.
  protocols: ["core", "http"],
  config: ["core"],
  // Imports the adapters of all databases.
  moving: ["core", "store"],
  // Checks all dependencies of the service.
  doctor: ["core", "config", "apps", "store", "bus", "wiring"],
  cli: ["core", "config", "moving", "doctor", "wiring"],
  // The composition root.
  wiring: ["*"],
  "main.ts": ["cli", "config", "wiring"],
};

/** Forbidden imports, as prefixes of both paths below `src`; they also apply within a folder. */
const FORBIDDEN: readonly (readonly [from: string, target: string])[] = [
  // Driven ports must not depend on driving ports.
  ["core/ports/driven/", "core/ports/driving/"],
  ["store/", "core/ports/driving/"],
  ["models/", "core/ports/driving/"],
  ["tools/", "core/ports/driving/"],
  ["turns/", "core/ports/driving/"],
  ["store/sqlite/", "store/postgres/"],
  ["store/postgres/", "store/sqlite/"],
];

/** Sibling packages that each package may import. */
const SIBLINGS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  server: ["protocol"],
  client: ["protocol"],
  react: ["protocol", "client"],
  console: ["protocol", "client", "react"],
};

interface Restricted {
  readonly what: RegExp;
  readonly folders: readonly string[];
  /** Files of other folders that may import the package too; each contains the reason. */
  readonly files?: readonly string[];
}

/** Siblings that only some folders of a package may import. */
const SIBLINGS_OF_FOLDERS: Readonly<Record<string, readonly string[]>> = { "server/cli": ["client"] };

/** External packages that only some folders may import. */
const RESTRICTED: readonly Restricted[] = [
  { what: /^(@fastify\/|fastify|@scalar\/fastify)/, folders: ["http", "protocols"] },
  { what: /^node:sqlite$/, folders: ["store"] },
  {
    what: /^(node:)?process$/,
    folders: ["main.ts"],
    files: ["tools/mcp/stdio-transport.ts", "schemas/schema-worker.ts"],
  },
];

const COMMENT = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;
const IMPORT =
  /^[ \t]*(?:import|export)\s+(?<type>type\s)?(?:[^"'`;()]*?\sfrom\s+)?["'](?<from>[^"']+)["']|\bimport\(\s*["'](?<dynamic>[^"']+)["']/gm;

/** Returns the violations of `source` at `path` (relative to the repository, with slashes). */
function violations(path: string, source: string): string[] {
  const code = source.replaceAll(COMMENT, "");
  const [, own = "", , folder = ""] = path.split("/");
  const found = [...code.matchAll(IMPORT)].flatMap(({ groups }) => {
    const from = groups?.["from"] ?? groups?.["dynamic"] ?? "";
    const wrong = from.startsWith(".")
      ? wrongRelative(path, own, folder, from)
      : wrongPackage(path, from, groups?.["type"] !== undefined);
    return wrong === null ? [] : [`${path} imports "${from}": ${wrong}`];
  });
  if (own === "server" && folder !== "main.ts" && /(?<![\w$.])process\s*[.[]/.test(code)) {
    found.push(`${path} uses process: only main.ts may`);
  }
  return found;
}

function wrongRelative(path: string, own: string, folder: string, from: string): string | null {
  if (!/\.(tsx?|json|css)$/.test(from)) return "a relative import ends in .ts";
  const [top, target, source, targetFolder = ""] = join(dirname(path), from).split(sep);
  if (top !== "packages" || target !== own) return "another package is imported by its name";
  if (own !== "server" || source !== "src") return null;
  if (isForbidden(path, join(dirname(path), from).replaceAll(sep, "/"))) return "FORBIDDEN excludes it";
  if (targetFolder === folder) return null;
  const allowed = FOLDERS[folder];
  if (allowed === undefined) return `FOLDERS has no entry for "${folder}"`;
  return allowed.includes("*") || allowed.includes(targetFolder)
    ? null
    : `${folder} may not import ${targetFolder}`;
}

function isForbidden(path: string, target: string): boolean {
  const src = "packages/server/src/";
  return FORBIDDEN.some(([from, to]) => path.startsWith(`${src}${from}`) && target.startsWith(`${src}${to}`));
}

function wrongPackage(path: string, from: string, typeOnly: boolean): string | null {
  const [, own = "", , folder = ""] = path.split("/");
  const sibling = /^@colloquy\/([^/]+)/.exec(from)?.[1];
  const siblings = [...(SIBLINGS[own] ?? []), ...(SIBLINGS_OF_FOLDERS[`${own}/${folder}`] ?? [])];
  if (sibling !== undefined && !siblings.includes(sibling)) return `${own} may not import ${sibling}`;
  if (own === "client")
    return sibling !== undefined && typeOnly ? null : "the client has no dependencies; import types only";
  if (sibling !== undefined) return null;
  if (own === "protocol") return from === "zod" ? null : "the protocol may only import zod";
  if (own !== "server") return null;
  if (folder === "core" && from !== "zod" && !(from === "@ai-sdk/provider" && typeOnly))
    return "core may only import zod, and types of @ai-sdk/provider";
  const restriction = RESTRICTED.find(({ what }) => what.test(from));
  if (restriction === undefined || restriction.folders.includes(folder)) return null;
  if (restriction.files?.some((file) => path.endsWith(`/src/${file}`)) === true) return null;
  return `only ${restriction.folders.join(" and ")} may`;
}

/**
 * Returns the groups of files that import each other in a circle, including imports of types and dynamic
 * imports.
 */
function cyclesIn(sources: ReadonlyMap<string, string>): string[][] {
  const targets = new Map<string, string[]>();
  for (const [path, source] of sources) targets.set(path, relativeTargets(path, source, sources));
  const reachable = new Map<string, ReadonlySet<string>>();
  for (const path of sources.keys()) reachable.set(path, reachableFrom(path, targets));
  const seen = new Set<string>();
  return [...sources.keys()].flatMap((path) => {
    if (seen.has(path) || reachable.get(path)?.has(path) !== true) return [];
    const group = [...sources.keys()].filter(
      (other) => reachable.get(path)?.has(other) === true && reachable.get(other)?.has(path) === true,
    );
    for (const one of group) seen.add(one);
    return [group];
  });
}

function relativeTargets(path: string, source: string, sources: ReadonlyMap<string, string>): string[] {
  const code = source.replaceAll(COMMENT, "");
  return [...code.matchAll(IMPORT)].flatMap(({ groups }) => {
    const from = groups?.["from"] ?? groups?.["dynamic"] ?? "";
    const target = join(dirname(path), from).replaceAll(sep, "/");
    return from.startsWith(".") && sources.has(target) ? [target] : [];
  });
}

function reachableFrom(path: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...(targets.get(path) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(targets.get(next) ?? []));
  }
  return reached;
}

const SOURCES: ReadonlyMap<string, string> = new Map(
  globSync("packages/*/src/**/*.{ts,tsx}", { cwd: ROOT })
    .filter((file) => !/\.(test|suite)\.tsx?$|\/testing\//.test(file))
    .map((file) => [
      relative(ROOT, join(ROOT, file)).replaceAll(sep, "/"),
      readFileSync(join(ROOT, file), "utf8"),
    ]),
);

describe("imports", () => {
  it("contain no cycles", () => {
    expect(cyclesIn(SOURCES)).toEqual([]);
  });

  it("form cycles through types and dynamic imports too", () => {
    const sources = new Map([
      ["p/a.ts", 'import type { B } from "./b.ts";'],
      ["p/b.ts", 'const c = await import("./sub/c.ts");'],
      ["p/sub/c.ts", 'export * from "../a.ts";'],
      ["p/d.ts", 'import { a } from "./a.ts";'],
    ]);
    expect(cyclesIn(sources)).toEqual([["p/a.ts", "p/b.ts", "p/sub/c.ts"]]);
  });
});

describe("the import table", () => {
  it("permits the imports of every source file", () => {
    const files = [...SOURCES];
    expect(files.length).toBeGreaterThan(10);
    const found = files.flatMap(([path, source]) => violations(path, source));
    expect(found).toEqual([]);
  });

  it.each([
    ["core/a.ts", 'import { b } from "../http/b.ts";'],
    ["core/a.ts", 'import { readFileSync } from "node:fs";'],
    ["core/a.ts", 'import { APICallError } from "@ai-sdk/provider";'],
    ["core/a.ts", 'import {\n  b,\n} from "./b";'],
    ["models/a.ts", 'export * from "../tools/b.ts";'],
    ["tools/a.ts", 'const b = await import("../apps/b.ts");'],
    ["apps/a.ts", 'import type { B } from "../models/b.ts";'],
    ["sessions/a.ts", 'import Fastify from "fastify";'],
    ["sessions/a.ts", 'import { b } from "../store/sqlite/b.ts";'],
    ["turns/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
    ["http/a.ts", 'import { env } from "node:process";'],
    ["http/a.ts", "const port = process.env.PORT;"],
    ["cli/keys.ts", "process.exitCode = 1;"],
    ["cli/keys.ts", 'import { openSqliteStore } from "../store/sqlite/open.ts";'],
    ["http/a.ts", 'import "../../../protocol/src/index.ts";'],
    ["http/a.ts", 'const any = "*/*";\nprocess.exit(1); /* */'],
    ["main.ts", 'import { b } from "./store/b.ts";'],
    ["turns/a.ts", 'import { buildServer } from "../wiring/server.ts";'],
    ["http/a.ts", 'import { b } from "../wiring/operations.ts";'],
    ["loose.ts", 'import { b } from "./core/b.ts";'],
    ["http/a.ts", 'import { createClient } from "@colloquy/client";'],
    ["main.ts", 'import { createClient } from "@colloquy/client";'],
    ["core/ports/driven/a.ts", 'import type { B } from "../driving/b.ts";'],
    ["store/sqlite/a.ts", 'import { b } from "../postgres/b.ts";'],
    ["attic/a.ts", 'import { b } from "../core/b.ts";'],
  ])("rejects in %s: %s", (file, source) => {
    expect(violations(`packages/server/src/${file}`, source)).toHaveLength(1);
  });

  it.each([
    'import { Snapshot } from "@colloquy/protocol";',
    'import type { Config } from "@colloquy/server/config";',
    'import { EventSource } from "eventsource";',
    'import { randomUUID } from "node:crypto";',
  ])("rejects %s in the client", (source) => {
    expect(violations("packages/client/src/a.ts", source)).toHaveLength(1);
  });

  it("allows type imports of the protocol in the client", () => {
    const source = 'export type { Snapshot } from "@colloquy/protocol";\nimport { b } from "./b.ts";';
    expect(violations("packages/client/src/a.ts", source)).toEqual([]);
  });

  it.each([
    ["core/a.ts", 'import type { LanguageModelV4 } from "@ai-sdk/provider";\nimport { z } from "zod";'],
    [
      "core/ports/driving/a.ts",
      'import type { B } from "../driven/b.ts";\nimport { c } from "@colloquy/protocol";',
    ],
    [
      "store/sqlite/a.ts",
      'import { DatabaseSync } from "node:sqlite";\nimport { b } from "../../core/b.ts";',
    ],
    ["wiring/server.ts", 'import { b } from "../store/b.ts";\n// left by process.exit'],
    ["tools/mcp/stdio-transport.ts", 'import { kill } from "node:process";'],
    ["cli/chat/a.ts", 'import { createClient } from "@colloquy/client";'],
    [
      "cli/keys.ts",
      'import { Command } from "commander";\nimport type { B } from "../wiring/administration.ts";',
    ],
  ])("allows in %s: %s", (file, source) => {
    expect(violations(`packages/server/src/${file}`, source)).toEqual([]);
  });
});
