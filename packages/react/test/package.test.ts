// Tests the published packages: packs them, and installs and uses them in a project with React and
// assistant-ui.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage as buildClient } from "../../client/build/build-package.ts";
import { Program } from "../../server/test/black-box/server.ts";
import { buildPackage as buildReact } from "../build/build-package.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");
const REACT = process.env["TEST_REACT"] === "18" ? "test/react18/node_modules" : "node_modules";
/** Packages that the project itself depends on, with the folder to link each from. */
const INSTALLED = {
  react: REACT,
  "react-dom": REACT,
  "@types/react": REACT,
  "@types/react-dom": REACT,
  "@assistant-ui/react": "node_modules",
};

let folder: string;
let project: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-react-"));
  project = join(folder, "project");
  // Pack the client while React's package is built.
  await buildClient(join(folder, "client"));
  const clientInstalled = install("client");
  await buildReact(join(folder, "react"));
  await Promise.all([clientInstalled, install("react")]);
  for (const [name, place] of Object.entries(INSTALLED)) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, place, name), link);
  }
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Packs the built package and unpacks it into the project. */
async function install(name: string): Promise<void> {
  const packed = await run("npm", [
    "pack",
    join(folder, name),
    "--pack-destination",
    folder,
    "--offline",
    "--ignore-scripts",
  ]);
  const installed = join(project, "node_modules/@colloquy", name);
  await mkdir(installed, { recursive: true });
  const tarball = join(folder, packed.stdout.trim().split("\n").at(-1) ?? "");
  await run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
}

/** Compiles the sources. Returns the errors of each, or "" for a source without errors. */
async function compileErrors(sources: readonly string[]): Promise<readonly string[]> {
  const files = sources.map((_source, index) => `use-${index}.tsx`);
  await Promise.all(files.map((file, index) => writeFile(join(project, file), sources[index] ?? "")));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2022", "dom", "dom.iterable"],
    module: "esnext",
    moduleResolution: "bundler",
    jsx: "react-jsx",
    types: [],
    // assistant-ui is a symbolic link, from which the compiler would find another React.
    paths: {
      react: ["./node_modules/@types/react"],
      "react/*": ["./node_modules/@types/react/*"],
      "react-dom": ["./node_modules/@types/react-dom"],
    },
    skipLibCheck: false,
  };
  // @radix-ui/primitive, a dependency of assistant-ui, needs it for its declarations.
  await writeFile(join(project, "node.d.ts"), "declare function setImmediate(): unknown;\n");
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: [...files, "node.d.ts"] }),
  );
  const compiler = join(ROOT, "node_modules/typescript-compiler/bin/tsc");
  const output = await run(process.execPath, [compiler, "-p", "."], { cwd: project }).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  // Indented lines continue the error above them.
  const lines = output.split("\n").filter((line) => /^\S/.test(line));
  const errorsIn = files.map((file) => lines.filter((line) => line.startsWith(`${file}(`)));
  // Errors in other files would be in the declarations of the packages.
  expect(lines.filter((line) => !errorsIn.flat().includes(line))).toEqual([]);
  return errorsIn.map((errors) => errors.join("\n"));
}

/** Runs a program in the project and returns its output. */
async function execute(name: string, code: string): Promise<string> {
  const file = join(project, `${name}.js`);
  await writeFile(file, (await transform(code, { loader: "tsx", jsx: "automatic" })).code);
  return (await run(process.execPath, [file])).stdout.trim();
}

/** Returns the TSX examples of the React documentation. */
async function examples(): Promise<string[]> {
  const pages = ["packages/react/README.md", "docs/react.md"];
  const texts = await Promise.all(pages.map((page) => readFile(join(ROOT, page), "utf8")));
  return texts.flatMap((text) => [...text.matchAll(/```tsx\n(.*?)```/gs)].map(([, code = ""]) => code));
}

it("has the client, React and assistant-ui as peer dependencies", async () => {
  const installed = join(project, "node_modules/@colloquy/react");
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as object;
  expect(manifest).toMatchObject({
    dependencies: { "@colloquy/client": "0.1.0" },
    peerDependencies: { react: ">=18.3.0", "@assistant-ui/react": "^0.15.0" },
    peerDependenciesMeta: { "@assistant-ui/react": { optional: true } },
  });
  const texts = await Promise.all(
    ["index.js", "shared.js", "assistant-ui/index.js"].map((file) =>
      readFile(join(installed, "dist", file), "utf8"),
    ),
  );
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/from "([^".][^"]*)"/g)].map(([, name]) => name),
  );
  expect(new Set(imported)).toEqual(
    new Set(["@assistant-ui/react", "@colloquy/client", "react", "react/jsx-runtime"]),
  );
  expect(texts[0]).toMatch(/^"use client";/);
  expect(texts[2]).toMatch(/^"use client";/);
  // The main entry must not need assistant-ui.
  expect(texts[0]! + texts[1]!).not.toContain("@assistant-ui");
});

it("has types that accept the guide's examples and reject misuse", async () => {
  const found = await examples();
  expect(found.length).toBeGreaterThan(4);
  const wrongSession =
    'import { useSession } from "@colloquy/react";\nexport const use = () => useSession(5);\n';
  const wrongRuntime =
    'import { useColloquyRuntime } from "@colloquy/react/assistant-ui";\nexport const use = () => useColloquyRuntime({ sessionId: 5 });\n';
  // Type-checking assistant-ui's declarations is slow, so check all examples in one run.
  const errors = await compileErrors([...found, wrongSession, wrongRuntime]);
  expect(errors).toEqual([
    ...found.map(() => ""),
    expect.stringMatching(/^use-\d+\.tsx\(2,\d+\): error TS2345/),
    expect.stringMatching(/^use-\d+\.tsx\(2,\d+\): error TS2322/),
  ]);
});

it("renders to a string without a DOM", async () => {
  const html = await execute(
    "server",
    `import { createClient } from "@colloquy/client";
    import { ColloquyProvider, useSession, useThreads } from "@colloquy/react";
    import { renderToString } from "react-dom/server";
    const client = createClient({ baseUrl: "http://127.0.0.1:1" });
    function Title() {
      const { snapshot } = useSession("6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c");
      return <h1>{snapshot?.title ?? "Not yet"}, {useThreads().threads.length}</h1>;
    }
    console.log(renderToString(<ColloquyProvider client={client}><Title /></ColloquyProvider>));`,
  );
  expect(html).toBe("<h1>Not yet<!-- -->, <!-- -->0</h1>");
});

describe("the documentation", () => {
  /**
   * A program that renders each example and prints the text of its page. It sends a message in complete
   * applications. Other components get a stored conversation with a pending tool call, which it approves. One
   * process runs all examples, because loading assistant-ui and a DOM takes most of the time.
   */
  const PAGES = `
    import ${JSON.stringify(join(import.meta.dirname, "page-globals.ts"))};
    const { createElement, StrictMode } = await import("react");
    const { createRoot } = await import("react-dom/client");
    const { createClient } = await import("@colloquy/client");
    const { ColloquyProvider, memoryThreads } = await import("@colloquy/react");
    const until = async (condition) => {
      for (let tries = 0; !condition(); tries += 1) {
        if (tries > 2_000) throw new Error("Timed out waiting for " + condition + " " + document.body.textContent);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    async function show({ default: App, ...components }) {
      const output = [];
      const client = createClient({ baseUrl: "URL" });
      const id = client.session().id;
      const opened = [];
      const open = (id) => opened.push(id);
      const sections = Object.values(components).map((component, key) => createElement("section", { key }, createElement(component, { id, open })));
      const storage = memoryThreads([{ session_id: id, title: "Remembered", updated_at: "2026-01-01T00:00:00.000Z" }]);
      if (!App) {
        // Does not wait for the answer, because the turn waits for an approval.
        await client.sendMessage(id, "What time is it?");
        const session = client.session(id);
        const stop = session.subscribe(() => undefined);
        await until(() => session.getSnapshot()?.pending_actions.length > 0);
        stop();
      }
      localStorage.clear();
      location.hash = "";
      const root = document.createElement("div");
      document.body.append(root);
      const page = createRoot(root);
      page.render(createElement(StrictMode, null, App ? createElement(App) : createElement(ColloquyProvider, { client, storage }, sections)));
      await until(() => root.firstChild && [...root.querySelectorAll("section")].every((section) => section.textContent !== ""));
      const button = (name) => [...root.querySelectorAll("button")].find((button) => button.textContent === name);
      if (!App) output.push(root.textContent);
      if (button("Yes")) {
        button("Yes").click();
        await until(() => !button("Yes"));
        output.push("answered");
      }
      if (button("Remembered")) {
        button("Remembered").click();
        output.push(opened[0] === id ? "opened" : "lost");
      }
      const input = root.querySelector("[aria-label=Message]");
      if (input) {
        const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(input), "value");
        set.call(input, "What is 12 * 7?");
        input.dispatchEvent(new window.Event("input", { bubbles: true }));
        await new Promise((resolve) => setTimeout(resolve, 50));
        input.form.requestSubmit();
        await new Promise((resolve) => setTimeout(resolve, 0));
        input.form.requestSubmit();
        await until(() => root.textContent.includes("12 * 7 = 84"));
      }
      output.push(root.textContent);
      page.unmount();
      root.remove();
      return output.join("\\n");
    }
    const output = [];
    for (const file of FILES) output.push(await show(await import(file)));
    console.log(JSON.stringify(output));
    process.exit();
  `;

  it("has examples that run", async () => {
    // The demo model calls a tool for both the time and calculations.
    const program = await Program.start({ apps: { default: { approvals: { current_time: "always" } } } });
    try {
      const files = await Promise.all(
        (await examples()).map(async (code, index) => {
          const file = join(project, `example-${index}.js`);
          const here = code.replaceAll("http://127.0.0.1:8080", program.url);
          await writeFile(file, (await transform(here, { loader: "tsx", jsx: "automatic" })).code);
          return file;
        }),
      );
      const pages = join(project, "pages.js");
      await writeFile(pages, PAGES.replace("URL", program.url).replace("FILES", JSON.stringify(files)));
      const { stdout } = await run(process.execPath, [pages], { timeout: 60_000 });
      const output = JSON.parse(stdout) as readonly string[];
      expect(output).toHaveLength(files.length);
      expect(output.filter((text) => text.includes("12 * 7 = 84"))).toHaveLength(3);
      // A double click submits the form twice. It must send one message, without an error.
      expect(output.filter((text) => /What is 12 \* 7\?[^]*What is 12 \* 7\?|blank/.test(text))).toEqual([]);
      expect(
        output.filter((text) => /^May I use current_time\?\{[^]*\}YesNo\nanswered\n/.test(text)),
      ).toHaveLength(1);
      expect(output.filter((text) => text.startsWith("RememberedRenameDelete\nopened\n"))).toHaveLength(1);
    } finally {
      await program.remove();
    }
  });
});
