// Enforces which folders may import which (docs/architecture.md), and that there are no import cycles. Reads
// every import statement. A new folder needs an entry in `FOLDERS`.

import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/**
 * Folders that each folder may import, in addition to itself and the protocol; "*" allows all of both packages,
 * and `type FOLDER` only types.
 */
const FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  engine: {
    core: [],
    files: ["core", "store"],
    sessions: ["core", "files", "turns"],
    turns: ["core"],
    schemas: ["core"],
    models: ["core"],
    tools: ["core"],
    apps: ["core"],
    store: ["core"],
    bus: ["core"],
    // `files` for the media types.
    config: ["core", "files"],
    // The composition root.
    wiring: ["*"],
    "index.ts": ["core", "wiring"],
    "backend.ts": ["core", "bus", "store"],
    "tool-source.ts": ["core", "tools"],
  },
  server: {
    // `files` for the media types.
    http: [
      "engine/core",
      "engine/files",
      "type engine/apps",
      "type engine/bus",
      "type engine/sessions",
      "type engine/wiring",
      "type admin",
    ],
    admin: ["engine/core", "type engine/apps", "type engine/sessions", "type engine/wiring"],
    // `store` for the plugin of SQLite, `files` for that of directories.
    config: ["engine/core", "engine/config", "engine/files", "engine/store", "http"],
    // Imports the adapters of all databases.
    moving: ["engine/core", "engine/store"],
    // Checks all dependencies of the service.
    doctor: [
      "engine/core",
      "engine/config",
      "engine/apps",
      "engine/store",
      "engine/bus",
      "engine/wiring",
      "config",
      "wiring",
    ],
    cli: ["engine/core", "engine/config", "config", "moving", "doctor", "wiring"],
    // The composition root.
    wiring: ["*"],
    "index.ts": ["cli", "config", "http", "wiring"],
    "protocol.ts": ["engine/core", "http"],
    "main.ts": ["engine/config", "engine/wiring", "cli", "config", "wiring"],
  },
};

/** Forbidden imports, as prefixes of both paths below the `src` of one package; they also apply within a folder. */
const FORBIDDEN: readonly (readonly [from: string, target: string])[] = [
  // Driven ports must not depend on driving ports.
  ["core/ports/driven/", "core/ports/driving/"],
  ["store/", "core/ports/driving/"],
  ["models/", "core/ports/driving/"],
  ["tools/", "core/ports/driving/"],
  ["turns/", "core/ports/driving/"],
];

/** Sibling packages that each package may import. */
const SIBLINGS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  engine: ["protocol"],
  "ai-sdk": ["protocol", "server"],
  "ag-ui": ["protocol", "server"],
  // The client folds events over a snapshot.
  aomi: ["protocol", "client", "server"],
  mcp: ["engine"],
  openapi: ["engine"],
  postgres: ["engine"],
  nats: ["engine"],
  s3: ["engine"],
  testing: ["protocol", "engine"],
  // The server bundles these, and they use the server's public API (`defineProtocol`).
  openai: ["protocol", "engine", "server"],
  "mcp-server": ["protocol", "server"],
  server: [
    "protocol",
    "engine",
    "ai-sdk",
    "mcp",
    "mcp-server",
    "openapi",
    "postgres",
    "nats",
    "openai",
    "ag-ui",
    "aomi",
    "s3",
  ],
  client: ["protocol"],
  react: ["protocol", "client"],
  ui: ["protocol", "client", "react"],
  console: ["protocol", "client", "react", "ui"],
};

/** Folders of siblings that packages without an entry in `FOLDERS` may import; absent for public entry points only. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  postgres: ["engine/core", "engine/store", "engine/bus"],
  nats: ["engine/core", "engine/bus"],
  s3: ["engine/core", "engine/store", "engine/files"],
  testing: ["engine/core", "engine/store", "engine/bus", "engine/wiring", "engine/apps"],
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
  { what: /^(@fastify\/|fastify|@scalar\/fastify)/, folders: ["http"], files: ["protocol.ts"] },
  { what: /^node:sqlite$/, folders: ["store"] },
  {
    what: /^(node:)?process$/,
    folders: ["main.ts"],
    files: ["schemas/schema-worker.ts"],
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
    const typeOnly = groups?.["type"] !== undefined;
    const wrong = from.startsWith(".")
      ? wrongRelative(path, own, folder, { from, typeOnly })
      : wrongPackage(path, from, typeOnly);
    return wrong === null ? [] : [`${path} imports "${from}": ${wrong}`];
  });
  if (FOLDERS[own] !== undefined && folder !== "main.ts" && /(?<![\w$.])process\s*[.[]/.test(code)) {
    found.push(`${path} uses process: only main.ts may`);
  }
  return found;
}

function wrongRelative(
  path: string,
  own: string,
  folder: string,
  { from, typeOnly }: { readonly from: string; readonly typeOnly: boolean },
): string | null {
  if (!/\.(tsx?|json|css)$/.test(from)) return "a relative import ends in .ts";
  const [top, target, source, targetFolder = ""] = join(dirname(path), from).split(sep);
  if (top !== "packages" || target !== own) return "another package is imported by its name";
  if (FOLDERS[own] === undefined || source !== "src") return null;
  if (isForbidden(own, path, join(dirname(path), from).replaceAll(sep, "/"))) return "FORBIDDEN excludes it";
  return targetFolder === folder ? null : wrongFolder(own, folder, { target: targetFolder, typeOnly });
}

interface ImportedFolder {
  readonly target: string;
  readonly typeOnly: boolean;
}

function wrongFolder(own: string, folder: string, { target, typeOnly }: ImportedFolder): string | null {
  const allowed = FOLDERS[own]?.[folder];
  if (allowed === undefined) return `FOLDERS has no entry for "${own}/${folder}"`;
  if (allowed.includes("*") || allowed.includes(target)) return null;
  if (typeOnly && allowed.includes(`type ${target}`)) return null;
  return `${folder} may not import ${target}`;
}

function isForbidden(own: string, path: string, target: string): boolean {
  const src = `packages/${own}/src/`;
  return FORBIDDEN.some(([from, to]) => path.startsWith(`${src}${from}`) && target.startsWith(`${src}${to}`));
}

/** Modules that import nothing, which the published client bundles. */
const BUNDLED: ReadonlySet<string> = new Set([
  "@colloquy/protocol/may-user-decide",
  "@colloquy/protocol/media-types",
]);

function wrongPackage(path: string, from: string, typeOnly: boolean): string | null {
  const [, own = "", , folder = ""] = path.split("/");
  const sibling = /^@colloquy\/([^/]+)/.exec(from)?.[1];
  const siblings = [...(SIBLINGS[own] ?? []), ...(SIBLINGS_OF_FOLDERS[`${own}/${folder}`] ?? [])];
  if (sibling !== undefined && !siblings.includes(sibling)) return `${own} may not import ${sibling}`;
  if (own === "client" && !BUNDLED.has(from))
    return sibling !== undefined && typeOnly ? null : "the client has no dependencies; import types only";
  const internal = /^@colloquy\/([^/]+\/)internal\/([^/]+)/.exec(from);
  if (internal !== null && FOLDERS[own] === undefined) {
    const target = `${internal[1]}${internal[2]}`;
    return MODULES[own]?.includes(target) === true ? null : `${own} may not import ${target}`;
  }
  if (internal !== null)
    return wrongFolder(own, folder, { target: `${internal[1]}${internal[2]}`, typeOnly });
  if (sibling !== undefined) return null;
  if (own === "protocol") return from === "zod" ? null : "the protocol may only import zod";
  if (FOLDERS[own] === undefined) return null;
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

  it("keep the entries for authors of plugins apart from the program", () => {
    const targets = new Map(
      [...SOURCES].map(([path, source]) => [path, relativeTargets(path, source, SOURCES)]),
    );
    const program = /\/(wiring|store|bus|sessions|turns)\/|http\/(app|edge|admission|answers)\.ts$/;
    for (const entry of ["packages/engine/src/tool-source.ts", "packages/server/src/protocol.ts"]) {
      const reached = [...reachableFrom(entry, targets)];
      expect(reached.length).toBeGreaterThan(5);
      expect(reached.filter((path) => program.test(path))).toEqual([]);
    }
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

/** Returns the path of `PACKAGE:FILE`. */
const pathOf = (file: string): string => `packages/${file.replace(":", "/src/")}`;

describe("the import table", () => {
  it("permits the imports of every source file", () => {
    const files = [...SOURCES];
    expect(files.length).toBeGreaterThan(10);
    const found = files.flatMap(([path, source]) => violations(path, source));
    expect(found).toEqual([]);
  });

  it.each([
    ["engine:core/a.ts", 'import { b } from "../http/b.ts";'],
    ["engine:core/a.ts", 'import { readFileSync } from "node:fs";'],
    ["engine:core/a.ts", 'import { APICallError } from "@ai-sdk/provider";'],
    ["engine:core/a.ts", 'import {\n  b,\n} from "./b";'],
    ["engine:models/a.ts", 'export * from "../tools/b.ts";'],
    ["engine:tools/a.ts", 'const b = await import("../apps/b.ts");'],
    ["engine:apps/a.ts", 'import type { B } from "../models/b.ts";'],
    ["engine:sessions/a.ts", 'import Fastify from "fastify";'],
    ["engine:sessions/a.ts", 'import { b } from "../store/sqlite/b.ts";'],
    ["engine:turns/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
    ["server:http/a.ts", 'import { env } from "node:process";'],
    ["server:http/a.ts", "const port = process.env.PORT;"],
    ["server:cli/keys.ts", "process.exitCode = 1;"],
    ["server:cli/keys.ts", 'import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";'],
    ["server:http/a.ts", 'import "../../../protocol/src/index.ts";'],
    ["server:http/a.ts", 'const any = "*/*";\nprocess.exit(1); /* */'],
    ["server:main.ts", 'import { b } from "@colloquy/engine/internal/store/b";'],
    ["engine:turns/a.ts", 'import { buildService } from "../wiring/service.ts";'],
    ["engine:wiring/a.ts", 'import { buildServer } from "@colloquy/server/internal/wiring/server";'],
    ["server:http/a.ts", 'import { b } from "@colloquy/engine/internal/wiring/metrics";'],
    ["server:http/a.ts", 'import { Threads } from "@colloquy/engine/internal/sessions/threads";'],
    ["server:http/a.ts", 'import { b } from "../admin/b.ts";'],
    ["server:http/a.ts", 'import type { B } from "@colloquy/engine/internal/turns/b";'],
    ["server:loose.ts", 'import { b } from "./core/b.ts";'],
    ["server:http/a.ts", 'import { createClient } from "@colloquy/client";'],
    ["server:main.ts", 'import { createClient } from "@colloquy/client";'],
    ["engine:core/ports/driven/a.ts", 'import type { B } from "../driving/b.ts";'],
    ["engine:wiring/a.ts", 'import mcp from "@colloquy/mcp";'],
    ["engine:store/sqlite/a.ts", 'import { b } from "@colloquy/postgres/internal/b";'],
    ["server:attic/a.ts", 'import { b } from "../core/b.ts";'],
  ])("rejects in %s: %s", (file, source) => {
    expect(violations(pathOf(file), source)).toHaveLength(1);
  });

  it.each([
    ["postgres", 'import { b } from "@colloquy/engine/internal/sessions/b";'],
    ["nats", 'import { b } from "@colloquy/engine/internal/store/b";'],
    ["nats", 'import { b } from "@colloquy/postgres";'],
    ["mcp", 'import { b } from "@colloquy/engine/internal/core/json";'],
    ["ai-sdk", 'import { b } from "@colloquy/engine";'],
  ])("rejects in %s: %s", (name, source) => {
    expect(violations(`packages/${name}/src/a.ts`, source)).toHaveLength(1);
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
    [
      "engine:core/a.ts",
      'import type { LanguageModelV4 } from "@ai-sdk/provider";\nimport { z } from "zod";',
    ],
    [
      "engine:core/ports/driving/a.ts",
      'import type { B } from "../driven/b.ts";\nimport { c } from "@colloquy/protocol";',
    ],
    [
      "engine:store/sqlite/a.ts",
      'import { DatabaseSync } from "node:sqlite";\nimport { b } from "../../core/b.ts";',
    ],
    ["server:http/a.ts", 'import type { Threads } from "@colloquy/engine/internal/sessions/threads";'],
    ["server:http/a.ts", 'import type { B } from "../admin/b.ts";'],
    ["server:wiring/server.ts", 'import { b } from "../store/b.ts";\n// left by process.exit'],
    ["engine:schemas/schema-worker.ts", 'import { kill } from "node:process";'],
    ["server:cli/chat/a.ts", 'import { createClient } from "@colloquy/client";'],
    [
      "server:cli/keys.ts",
      'import { Command } from "commander";\nimport type { B } from "../wiring/administration.ts";',
    ],
  ])("allows in %s: %s", (file, source) => {
    expect(violations(pathOf(file), source)).toEqual([]);
  });
});
