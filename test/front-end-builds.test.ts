// The published client and React packages in the tools of front-end projects: the first page of docs/react.md, built by
// each bundler and used in Chromium, and tests under Jest.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildPackage as buildClient } from "../packages/client/build/build-package.ts";
import { buildPackage as buildReact } from "../packages/react/build/build-package.ts";
import { Program } from "../packages/server/test/black-box/server.ts";
import { isWithoutChromium } from "./browser/chromium.ts";
import { useChromium } from "./browser/use-chromium.ts";
import { findInstalled } from "./installed.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");
const ESBUILD = join(ROOT, "node_modules/esbuild/bin/esbuild");
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css" };
const NEXT = findInstalled("bundlers", "next/dist/bin/next");
const WEBPACK = findInstalled("bundlers", "webpack/lib/index.js");
const JEST = findInstalled("bundlers", "jest/bin/jest.js");
const HERMES = findInstalled("bundlers", "hermes-engine-cli/linux64-bin/hermes");
const isLeftOut = NEXT === null || WEBPACK === null || JEST === null || (await isWithoutChromium());

let project: string;
let program: Program;
let server: Server | null = null;

beforeAll(async () => {
  if (isLeftOut) return;
  // Inside the folder, so that the project finds React and the bundlers without links, which bundlers treat differently.
  project = await mkdtemp(join(import.meta.dirname, "bundlers/project-"));
  await Promise.all([
    buildClient(join(project, "node_modules/@colloquy/client")),
    buildReact(join(project, "node_modules/@colloquy/react")),
  ]);
  const [, page = ""] = /```tsx\n(.*?)```/s.exec(await readFile(join(ROOT, "docs/react.md"), "utf8")) ?? [];
  await writeAll({
    "package.json": '{ "type": "module" }',
    "App.js": await compiled(
      page.replace('createClient({ baseUrl: "http://127.0.0.1:8080" })', "createClient()"),
    ),
    "main.js": await compiled(
      'import { createRoot } from "react-dom/client";\nimport App from "./App.js";\ncreateRoot(document.getElementById("root")).render(<App />);',
    ),
  });
  program = await Program.start({});
});
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});
afterAll(async () => {
  if (isLeftOut) return;
  await program.remove();
  await rm(project, { recursive: true });
});

async function compiled(source: string): Promise<string> {
  const file = join(project, "source.tsx");
  await writeFile(file, source);
  return (await run(ESBUILD, [file, "--jsx=automatic"])).stdout;
}

async function writeAll(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(project, file, ".."), { recursive: true });
    await writeFile(join(project, file), text);
  }
}

/** Runs a program of Node in the project. Throws with its output if it fails. */
const node = async (mode: "production" | "test", ...words: readonly string[]): Promise<string> => {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: mode };
  const { stdout, stderr } = await run(process.execPath, words, { cwd: project, env });
  return stdout + stderr;
};

/** Serves a folder of the project, and the service under `/api`. Returns its URL. */
async function serve(folder: string): Promise<string> {
  server = createServer((message, response) => {
    const { url = "/", method, headers } = message;
    if (url.startsWith("/api/")) {
      const forwarded = request(program.url + url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      response.on("close", () => forwarded.destroy());
      forwarded.on("error", () => response.destroy());
      message.pipe(forwarded);
      return;
    }
    const file = url === "/" ? "index.html" : decodeURIComponent(url.replace(/\?.*/, ""));
    const type = TYPES[extname(file) as keyof typeof TYPES] ?? "text/html";
    readFile(join(project, folder, file)).then(
      (bytes) => response.writeHead(200, { "content-type": type }).end(bytes),
      () => response.writeHead(204).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const HTML = (script: string): string =>
  `<!doctype html><html lang="en"><title>Chat</title><div id="root"></div><script type="module" src="${script}"></script></html>`;

/** Builds the page by each bundler. Returns the folder with `index.html`. */
const BUILDERS: Readonly<Record<string, () => Promise<string>>> = {
  vite: async () => {
    await writeAll({ "index.html": HTML("/main.js") });
    await node("production", join(ROOT, "node_modules/vite/bin/vite.js"), "build", "--outDir", "vite");
    return "vite";
  },
  webpack: async () => {
    const performance = { hints: false };
    const config = { mode: "production", entry: "./main.js", context: project, performance };
    await writeAll({
      "webpack/index.html": HTML("/main.js"),
      "webpack.js": `import webpack from "webpack";
        const output = { path: import.meta.dirname + "/webpack" };
        webpack({ ...${JSON.stringify(config)}, output }, (error, stats) => {
          if (error || stats.hasErrors() || stats.hasWarnings()) throw error ?? new Error(stats.toString());
        });`,
    });
    await node("production", "webpack.js");
    return "webpack";
  },
  esbuild: async () => {
    await writeAll({ "esbuild/index.html": HTML("/main.js") });
    await run(ESBUILD, ["main.js", "--bundle", "--minify", "--target=safari15.4", "--outdir=esbuild"], {
      cwd: project,
    });
    return "esbuild";
  },
  next: async () => {
    await writeAll({
      "next.config.js": 'export default { output: "export" };',
      "app/layout.js": await compiled(
        'export default function Layout({ children }) { return <html lang="en"><head><title>Chat</title></head><body>{children}</body></html>; }',
      ),
      // The page reads its address, so it is rendered in the browser only, as docs/react.md says.
      "app/page.js": `"use client";\n${await compiled(
        'import dynamic from "next/dynamic";\nconst App = dynamic(() => import("../App.js"), { ssr: false });\nexport default function Page() { return <App />; }',
      )}`,
    });
    await node("production", NEXT!, "build");
    return "out";
  },
};

describe.skipIf(isLeftOut)("the first page of the documentation", () => {
  const open = useChromium();

  it.each(Object.keys(BUILDERS))("chats when %s has built it", async (builder) => {
    const url = await serve(await BUILDERS[builder]!());
    const { page } = await open(url);
    await page.goto(url);
    await page.getByLabel("Message").fill("What is 12 * 7?");
    await page.getByRole("button", { name: "Send" }).click();
    const answer = page.getByText("12 * 7 = 84");
    await answer.waitFor();
    expect(await answer.count()).toBe(1);
  });
});

describe.skipIf(isLeftOut || HERMES === null)("Metro", () => {
  it("bundles the client, which polls in React Native's engine", async () => {
    const program = join(ROOT, "packages/client/test/runtimes/react-native.js");
    await writeAll({
      "react-native.js": await readFile(program, "utf8"),
      // Without classes, which this version of the engine lacks.
      "babel.config.cjs":
        'module.exports = { presets: [["@react-native/babel-preset", { unstable_transformProfile: "default" }]] };',
      "metro.cjs": `const Metro = require("metro");
        const config = { projectRoot: __dirname, watchFolders: [require("node:path").dirname(__dirname)] };
        const options = { entry: "react-native.js", out: "react-native.bundle.js", platform: "android", minify: false };
        Metro.loadConfig({}, config).then((config) => Metro.runBuild(config, options));`,
    });
    await node("production", "metro.cjs");
    const { stdout } = await run(HERMES!, [join(project, "react-native.bundle.js")], { timeout: 60_000 });
    expect(JSON.parse(stdout)).toMatchObject({
      state: "polling",
      code: "no_streams",
      texts: ["Hi", "one two 🫖"],
      streams: 0,
      events: ["message_created", "message_created", "state_changed", "message_completed", "state_changed"],
    });
  });
});

describe.skipIf(isLeftOut)("Jest", () => {
  const TEST = `
    import { createClient } from "@colloquy/client";
    import { ColloquyProvider, useSession } from "@colloquy/react";
    import { act, createElement } from "react";
    import { createRoot } from "react-dom/client";
    test("shows a page", async () => {
      globalThis.IS_REACT_ACT_ENVIRONMENT = true;
      const client = createClient({ baseUrl: "http://127.0.0.1:1", fetch: () => new Promise(() => undefined) });
      const Title = () => createElement("h1", null, useSession("6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c").connection.state);
      const root = document.body.appendChild(document.createElement("div"));
      await act(async () => createRoot(root).render(createElement(ColloquyProvider, { client }, createElement(Title))));
      expect(root.textContent).toBe("connecting");
    });`;

  it.each([
    ["with modules in Node", ["--experimental-vm-modules"], { transform: {} }],
    [
      "with modules that Babel transforms",
      [],
      {
        transform: { "\\.js$": ["babel-jest", { plugins: ["@babel/plugin-transform-modules-commonjs"] }] },
        transformIgnorePatterns: ["/node_modules/(?!@colloquy/)"],
      },
    ],
  ] as const)("runs tests in jsdom %s", async (_how, options, settings) => {
    await writeAll({
      "page.test.js": TEST,
      "jest.json": JSON.stringify({ testEnvironment: "jsdom", testMatch: ["**/page.test.js"], ...settings }),
    });
    const env = ["--config", "jest.json", "--no-watchman"];
    expect(await node("test", ...options, JEST!, ...env)).toContain("1 passed");
  });
});
