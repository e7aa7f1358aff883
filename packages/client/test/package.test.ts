// The published package: packed, unpacked into an empty project, and used there.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { buildPackage, bundle, wireNames } from "../build/build-package.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");
const TSC = join(ROOT, "node_modules/typescript-compiler/bin/tsc");

let folder: string;
let project: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-client-"));
  await buildPackage(join(folder, "built"));
  const npm = await run("npm", [
    "pack",
    join(folder, "built"),
    "--pack-destination",
    folder,
    "--offline",
    "--ignore-scripts",
  ]);
  const tarball = npm.stdout.trim().split("\n").at(-1) ?? "";
  project = join(folder, "project");
  const installed = join(project, "node_modules/@colloquy/client");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Returns the compiler's output for files that use the package with these settings; empty on success. */
async function check(options: object, ...sources: readonly string[]): Promise<string> {
  const files = sources.map((_source, index) => `use-${index}.ts`);
  await Promise.all(files.map((file, index) => writeFile(join(project, file), sources[index] ?? "")));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2022"],
    types: [],
    ...options,
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  return run(process.execPath, [TSC, "-p", project]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
}

const USE = `
import { ColloquyError, createClient, fold, type Snapshot } from "@colloquy/client";
const variables: Record<string, string | undefined> = {};
const client = createClient({
  baseUrl: variables["URL"],
  app: variables["APP"],
  key: variables["KEY"],
  token: undefined,
  headers: undefined,
  fetch: undefined,
  retries: undefined,
});
const session = client.session("6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c");
const stop: () => void = session.subscribe(() => undefined);
const seen: Snapshot | null = session.getSnapshot();
for await (const update of session.updates({ signal: new AbortController().signal })) {
  if (update.type === "message_delta") update.text.trim();
  else if (update.type === "system_notice") update.code.trim();
  const next = seen && fold(seen, update, null);
  next?.snapshot.messages.at(-1)?.tool_calls?.[0]?.name.trim();
}
const [action] = seen?.pending_actions ?? [];
if (action?.kind === "wallet_transaction") {
  await session.resolve(action.id, { decision: "approve", result: { transaction_hash: "0x" + action.request.to } });
}
const { title, status } = await session.send("Hi", { wait: true, publicKey: variables["WALLET"], rig: undefined });
title satisfies string;
status satisfies "idle" | "processing" | "interrupted";
try { await client.listThreads("0xabc", { limit: 10 }); } catch (error) {
  if (error instanceof ColloquyError) [error.code.trim(), error.status.toFixed(), error.requestId?.trim()];
}
stop();
`;

it("contains the expected files only", async () => {
  const installed = join(project, "node_modules/@colloquy/client");
  expect((await readdir(installed)).toSorted()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const files = await readdir(join(installed, "dist"));
  expect(files.filter((file) => !file.endsWith(".d.ts")).toSorted()).toEqual(
    ["admin.js", "admin.js.map", "index.js", "index.js.map", "shared.js", "shared.js.map"].toSorted(),
  );
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as object;
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  for (const file of ["index.js", "admin.js", "shared.js"]) {
    const code = await readFile(join(installed, "dist", file), "utf8");
    const map = JSON.parse(await readFile(join(installed, "dist", `${file}.map`), "utf8")) as {
      readonly sources: readonly string[];
      readonly sourcesContent: readonly string[];
    };
    expect(map.sourcesContent.length).toBe(map.sources.length);
    const own = code.replace(/^import \{[^}]*\} from "\.\/shared\.js";$/m, "");
    expect(own.match(/\bimport\b.*|\brequire\b.*|\bprocess\b.*|\bBuffer\b.*/g)).toBeNull();
  }
});

describe("type-checks without other packages", () => {
  it.each([
    ["a page", { lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler" }],
    ["node16", { lib: ["es2022", "dom"], module: "node16" }],
    ["Node", { module: "nodenext", typeRoots: [join(ROOT, "node_modules/@types")], types: ["node"] }],
  ])("under %s", async (_name, options) => {
    expect(await check(options, USE)).toBe("");
  });

  it("in a CommonJS project under nodenext, where require loads it", async () => {
    const commonJs = join(project, "commonjs");
    await mkdir(commonJs, { recursive: true });
    await writeFile(join(commonJs, "package.json"), '{ "type": "commonjs" }');
    const use =
      'import { createClient } from "@colloquy/client";\nconsole.log(typeof createClient().session);\n';
    await writeFile(join(commonJs, "use.ts"), use);
    const compilerOptions = { strict: true, module: "nodenext", types: [], lib: ["es2022", "dom"] };
    await writeFile(join(commonJs, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    await run(process.execPath, [TSC, "-p", commonJs]);
    expect(await readFile(join(commonJs, "use.js"), "utf8")).toContain('require("@colloquy/client")');
    expect((await run(process.execPath, [join(commonJs, "use.js")])).stdout.trim()).toBe("function");
  });

  it("has types for its second entry under the resolution of old compilers", async () => {
    const manifest = JSON.parse(
      await readFile(join(project, "node_modules/@colloquy/client/package.json"), "utf8"),
    ) as { readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> };
    const [types = ""] = manifest.typesVersions["*"]?.["admin"] ?? [];
    expect(await readFile(join(project, "node_modules/@colloquy/client", types), "utf8")).toContain(
      "createAdminClient",
    );
  });

  it("rejects mistakes", async () => {
    const options = { lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler" };
    const wrong =
      'import { createClient } from "@colloquy/client";\nawait createClient().session().send(5);\n';
    expect(await check(options, wrong)).toMatch(/use-0\.ts\(2,\d+\): error TS2345/);
  });
});

describe("its documentation", () => {
  const pages = ["packages/client/README.md", "docs/client.md"];

  async function examples(): Promise<string[]> {
    const texts = await Promise.all(pages.map((page) => readFile(join(ROOT, page), "utf8")));
    return texts.flatMap((text) => [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code));
  }

  it("has examples that type-check", async () => {
    const found = await examples();
    expect(found.length).toBeGreaterThan(5);
    const options = { module: "nodenext", typeRoots: [join(ROOT, "node_modules/@types")], types: ["node"] };
    expect(await check(options, ...found)).toBe("");
  });

  it("has examples that run and terminate", async () => {
    const key = { COLLOQUY_ADMIN_KEY: "admin-key-of-the-examples" };
    const program = await Program.start(null, key);
    try {
      const runs = (await examples()).map(async (code, index) => {
        const file = join(project, `run-${index}.ts`);
        await writeFile(file, code.replaceAll("http://127.0.0.1:8080", program.url));
        return (await run(process.execPath, [file], { env: { ...process.env, ...key } })).stdout;
      });
      const said = await Promise.all(runs);
      expect(said[0]).toContain("12 * 7 = 84");
      expect(said.some((text) => /^\d+ \D*20\W*$/m.test(text))).toBe(true);
    } finally {
      await program.remove();
    }
  });
});

it("has the types of the server's schemas", async () => {
  const names = wireNames();
  expect(names).toEqual(expect.arrayContaining(["Snapshot", "AdminOverview"]));
  const declarations = join(project, "node_modules/@colloquy/client/dist/protocol.js");
  const source = [
    `import type * as Written from ${JSON.stringify(declarations)};`,
    'import type * as Meant from "@colloquy/protocol";',
    "type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;",
    ...names.map((name) => `true satisfies Same<Written.${name}, Meant.${name}>;`),
    "true satisfies Same<keyof Written.Snapshot, keyof Meant.Snapshot>;",
    "true satisfies Same<keyof Written.AdminTurn, keyof Meant.AdminTurn>;",
  ];
  const paths = { "@colloquy/protocol": [join(ROOT, "packages/protocol/src/index.ts")] };
  const options = { module: "nodenext", allowImportingTsExtensions: true, skipLibCheck: true, paths };
  expect(await check(options, source.join("\n"))).toBe("");
});

it("has a second entry for operators that shares the error class", async () => {
  const use = `
    import { ColloquyError } from "@colloquy/client";
    import { createAdminClient } from "@colloquy/client/admin";
    const client = createAdminClient({ baseUrl: "http://127.0.0.1:1", key: "a key of sixteen", retries: 0 });
    const error = await client.overview().catch((error) => error);
    console.log(error instanceof ColloquyError, error.code);
  `;
  await writeFile(join(project, "use-admin.js"), use);
  const { stdout } = await run(process.execPath, [join(project, "use-admin.js")]);
  expect(stdout.trim()).toBe("true network_failed");
  const typed = `
    import { createAdminClient, type AdminTurn } from "@colloquy/client/admin";
    const client = createAdminClient({ key: "a key of sixteen" });
    const { sessions } = await client.listSessions({ status: "stuck", limit: 10 });
    const turn: AdminTurn | null | undefined = sessions[0]?.turn;
    turn?.stuck?.trim();
    const { rows } = await client.latency({ bucket: "minute", from: new Date() });
    rows.map(({ total_ms: { p99 } }) => p99.toFixed());
  `;
  const options = { lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler" };
  expect(await check(options, typed)).toBe("");
});

it("runs without other packages", async () => {
  const use = `
    import { createClient, ColloquyError } from "@colloquy/client";
    const client = createClient({ baseUrl: "http://127.0.0.1:1", retries: 0 });
    const error = await client.session().send("Hi").catch((error) => error);
    console.log(error instanceof ColloquyError, error.code, error.status);
  `;
  await writeFile(join(project, "use.js"), use);
  const { stdout } = await run(process.execPath, [join(project, "use.js")]);
  expect(stdout.trim()).toBe("true network_failed 0");
});

it("has at most 16 KB, minified and compressed", async () => {
  const outfile = join(folder, "client.min.js");
  await bundle(outfile, { minify: true });
  expect(gzipSync(await readFile(outfile), { level: 9 }).byteLength).toBeLessThanOrEqual(16 * 1024);
});
