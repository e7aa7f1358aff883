// Runs the programs of docs/guides/embed.md in an empty directory with the packed packages.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { output } from "./local-registry.ts";
import { copyWithModules, PACKING_MS, packAll, SERVER_PACKAGES } from "./packed.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/embed.md"), "utf8");

let folder: string;
let project: string;
const started: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-embed-"));
  const clone = join(folder, "clone");
  await copyWithModules(clone);
  project = join(folder, "project");
  const modules = join(project, "node_modules");
  await mkdir(join(modules, "@colloquy"), { recursive: true });
  for (const [name, tarball] of await packAll(clone, folder, SERVER_PACKAGES)) {
    const target = join(modules, "@colloquy", name);
    await mkdir(target);
    await run("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  }
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "@colloquy" && !name.startsWith("."))
      await symlink(join(ROOT, "node_modules", name), join(modules, name));
  for (const [, name = "", program = ""] of GUIDE.matchAll(/^```js (\S+\.mjs)\n([\s\S]*?)^```$/gm))
    await writeFile(join(project, name), program);
}, PACKING_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const child of started.splice(0)) await kill(child);
  await rm(join(project, "data"), { recursive: true, force: true });
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

const start = (program: string): ChildProcess => {
  const env = { ...process.env, PORT: "0" };
  const child = spawn(process.execPath, [program], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  return child;
};

describe("the embedding guide", () => {
  it("streams and stores an answer of the demo model", async () => {
    const { stdout } = await run(process.execPath, ["chat.mjs"], { cwd: project });
    expect(stdout).toMatch(/1.*2.*3.*4.*5[^]*2 messages are stored/);
    expect(existsSync(join(project, "data/colloquy.db"))).toBe(true);
  });

  it("resumes an answer after the program is killed", async () => {
    const program = readFileSync(join(project, "chat.mjs"), "utf8");
    const fixed = program.replace("crypto.randomUUID()", '"6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c"');
    await writeFile(join(project, "killed.mjs"), fixed.replace("Count to 5", "Count to 60"));
    const child = start("killed.mjs");
    await output(child, /(\b7\b)/);
    await kill(child);
    await writeFile(
      join(project, "again.mjs"),
      fixed
        .replace(/^await engine.conversations.chat.*$/m, "")
        .replace("{ session, signal", '{ session, after: "0", signal'),
    );
    const { stdout } = await run(process.execPath, ["again.mjs"], { cwd: project });
    expect(stdout).toMatch(/\b60\b[^]*2 messages are stored/);
  });

  it("runs a custom tool", async () => {
    const { stdout } = await run(process.execPath, ["pirate.mjs"], { cwd: project });
    expect(stdout).toContain("It is sunny in Paris.");
  });

  it("runs tools of an MCP server and an OpenAPI service, with their plugins", async () => {
    await writeFile(join(project, "server.mjs"), MCP_SERVER);
    await writeFile(join(project, "shop.json"), JSON.stringify(SHOP));
    await writeFile(join(project, "plugins.mjs"), WITH_PLUGINS);
    const { stdout } = await run(process.execPath, ["plugins.mjs"], { cwd: project });
    expect(stdout).toContain("The sun of Oslo shines.");
    expect(stdout).toContain("3 pears");
  });

  it.each(["hono.mjs", "express.mjs"])("serves the HTTP API in %s", async (program) => {
    const url = await output(start(program), /(http:\/\/\S+)/);
    expect(await (await fetch(url)).text()).toBe("My program");
    const session = { "x-session-id": crypto.randomUUID() };
    const leaving = new AbortController();
    const updates = await fetch(`${url}/colloquy/api/updates?include=messages`, {
      headers: { ...session, accept: "text/event-stream" },
      signal: leaving.signal,
    });
    const chat = await fetch(`${url}/colloquy/api/chat`, {
      method: "POST",
      headers: { ...session, "content-type": "application/json", prefer: "wait=20" },
      body: JSON.stringify({ message: "What is 12 * 7?" }),
    });
    expect(chat.status).toBe(200);
    expect(await chat.text()).toContain("84");
    let text = "";
    for await (const piece of updates.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes('"status":"idle"') || text.includes("message_completed")) break;
    }
    expect(text).toContain("message_delta");
    leaving.abort();
  });
});

const MCP_SERVER = `
  import { McpServer } from "@modelcontextprotocol/server";
  import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
  import { z } from "zod";
  const server = new McpServer({ name: "sky", version: "1.0.0" });
  server.registerTool("look", { inputSchema: z.object({ city: z.string() }) }, ({ city }) => ({
    content: [{ type: "text", text: "The sun of " + city + " shines." }],
  }));
  await server.connect(new StdioServerTransport());
`;
const SHOP = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  paths: { "/pears": { get: { operationId: "count", responses: { 200: { description: "The pears" } } } } },
};
const WITH_PLUGINS = `
  import { createEngine } from "@colloquy/engine";
  import mcp from "@colloquy/mcp";
  import openapi from "@colloquy/openapi";
  import { once } from "node:events";
  import { createServer } from "node:http";
  const shop = createServer((_request, response) => response.end("3 pears")).listen(0, "127.0.0.1");
  await once(shop, "listening");
  const engine = await createEngine({
    plugins: [mcp, openapi],
    apps: {
      default: {
        mcp: { sky: { command: process.execPath, args: ["server.mjs"] } },
        openapi: { shop: { document: "shop.json", baseURL: "http://127.0.0.1:" + shop.address().port } },
      },
    },
  });
  for (const message of ['call sky_look {"city": "Oslo"}', "call shop_count {}"]) {
    const session = crypto.randomUUID();
    const { messages } = await engine.conversations.chat({ session, message, wait: 30_000 });
    console.log(messages.at(-1).content);
  }
  await engine.close();
  shop.close();
`;
