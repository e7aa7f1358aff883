// Installs the packed packages into a new project: the guide's code must compile and bundle, and the element
// must be a single file without dependencies.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copyWithModules, PACKING_MS, packAll } from "../../../test/packed.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");
const GUIDE = join(ROOT, "docs/guides/components.md");
const OTHERS = [
  "@types",
  "@assistant-ui",
  "@standard-schema",
  "react",
  "react-dom",
  "react-markdown",
  "unified",
  "csstype",
];

let folder: string;
let project: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-ui-"));
  await copyWithModules(join(folder, "clone"));
  project = join(folder, "project");
  await mkdir(join(project, "node_modules/@colloquy"), { recursive: true });
  for (const [name, tarball] of await packAll(join(folder, "clone"), folder, ["client", "react", "ui"])) {
    const unpacked = join(project, "node_modules/@colloquy", name);
    await mkdir(unpacked);
    await run("tar", ["-xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  }
  // Link the dependencies that npm would install.
  for (const name of OTHERS)
    await symlink(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  for (const [, name = "", code = ""] of (await readFile(GUIDE, "utf8")).matchAll(
    /<!-- (\w+\.tsx) -->\n```tsx\n([^]*?)```/g,
  ))
    await writeFile(join(project, name), code);
}, PACKING_MS);
afterAll(() => rm(folder, { recursive: true }));

it("compiles the code of the guide", async () => {
  const compilerOptions = {
    strict: true,
    jsx: "react-jsx",
    module: "esnext",
    moduleResolution: "bundler",
    target: "es2022",
    lib: ["es2022", "dom", "dom.iterable"],
    types: [],
    noEmit: true,
    skipLibCheck: true,
    noUncheckedSideEffectImports: true,
  };
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["page.tsx", "replaced.tsx"] }),
  );
  const compiler = join(ROOT, "node_modules/typescript-compiler/bin/tsc");
  await expect(run(process.execPath, [compiler, "-p", project])).resolves.toBeDefined();
});

it("bundles the page of the guide with styles for every class that it uses", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(project, "page.tsx")],
    outdir: join(project, "out"),
    bundle: true,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    write: false,
    // Linked packages resolve their dependencies in the repository.
    nodePaths: [join(ROOT, "node_modules")],
  });
  const [styles] = outputFiles.filter(({ path }) => path.endsWith("page.css"));
  expect(styles!.text).toContain("--cq-accent:");
  expect(styles!.text).toContain(".cq-composer {");
});

it("builds an element that imports only files of the package", async () => {
  const dist = join(project, "node_modules/@colloquy/ui/dist");
  const code = await readFile(join(dist, "element.js"), "utf8");
  const loaded = [...code.matchAll(/(?:from|import)\s*\(?"([^"\s]+)"/g)].map(([, from]) => from);
  expect(loaded.length).toBeGreaterThan(0);
  for (const file of loaded) await readFile(join(dist, file!));
  expect(code).toContain("colloquy-chat");
  await readFile(join(dist, "styles.css"));
});
