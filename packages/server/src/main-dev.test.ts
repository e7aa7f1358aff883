// `colloquy dev` as a process, for a developer who edits files beside it.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endProcess, type Started, startIn } from "../test/watched-process.ts";

let directory = "";
let service: Started;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-dev-"));
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  await mkdir(join(directory, "parts"));
});

afterEach(async () => {
  // The process of the service ends with the one that watches, and frees the directory.
  if (service.child.exitCode === null) {
    service.child.kill("SIGTERM");
    await service.exited();
  }
  await endProcess(service);
  await rm(directory, { recursive: true });
});

const write = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);
const CONFIG = `import { instructions } from "./parts/text.ts";
  export default { apps: { default: { instructions } } };`;
const OPEN = /Open in a browser: +(http:\S+)/;

/** Edits a file. Resolves with the match of the pattern in the output after the edit. */
async function edit(name: string, text: string, pattern: RegExp): Promise<RegExpExecArray> {
  const before = service.output().length;
  await write(name, text);
  return await service.find(pattern, before);
}

describe("colloquy dev", () => {
  it("prints the address, a curl command and readable lines, and starts again on a change of an imported file", async () => {
    await write("colloquy.config.ts", CONFIG);
    await write("parts/text.ts", 'export const instructions: string = "one";');
    service = startIn(directory, {}, "dev", "--data-dir", "elsewhere");
    const [, address] = await service.find(OPEN);
    await service.find(/\d\d:\d\d:\d\d INFO {2}listening address=http/);
    expect(service.output()).toContain(`"${address}/api/chat?message=Hello"`);

    const text = 'export const instructions = "two";';
    const [, again] = await edit(
      "parts/text.ts",
      text,
      /^parts\/text\.ts changed\.[^]*Open in a browser: +(http:\S+)/m,
    );
    expect((await fetch(`${again}/healthz`)).status).toBe(200);
  });

  it("starts again on a change of a plugin named by its path, and of a file that it imports", async () => {
    const plugin = (text: string) => `import { name } from "./parts/name.ts";
      export default { kind: "colloquy/command", name, version: "1.0.0", description: "${text}", run() {} };`;
    await write("parts/name.ts", 'export const name: string = "greet";');
    await write("greet.ts", plugin("one"));
    await write("colloquy.config.json", JSON.stringify({ plugins: ["./greet.ts"] }));
    service = startIn(directory, {}, "dev");
    await service.find(OPEN);
    const [changed] = await edit("greet.ts", plugin("two"), /^greet\.ts changed\.[^]*Open in a browser/m);
    const [imported] = await edit(
      "parts/name.ts",
      'export const name = "hail";',
      /^parts\/name\.ts changed\.[^]*Open in a browser/m,
    );
    expect([changed, imported].map((text) => text.split(" ", 1)[0])).toEqual(["greet.ts", "parts/name.ts"]);
  });

  it("reads .env again", async () => {
    await write("colloquy.config.ts", "export default {};");
    service = startIn(directory, {}, "dev");
    await service.find(OPEN);
    await edit(".env", "COLLOQUY_LOG_LEVEL=nonsense", /^\.env changed\.$/m);
    expect(await service.exited()).toEqual({ code: 2, signal: null });
    expect(service.errors()).toContain("COLLOQUY_LOG_LEVEL");
  });

  it("waits for the configuration to be valid, at the start and later", async () => {
    await write("colloquy.config.ts", "export default { colour: 1 };");
    service = startIn(directory, {}, "dev");
    await expect
      .poll(() => service.errors())
      .toMatch(/ {2}- colloquy\.config\.ts, colour: [^\n]*\nColloquy starts when they are fixed\.\n$/);
    await edit("colloquy.config.ts", CONFIG, /changed/);
    await expect.poll(() => service.errors()).toContain("parts/text.ts");
    // The file that could not be found is watched.
    await edit("parts/text.ts", 'export const instructions = "three";', OPEN);
  });

  it("reads an OpenAPI document again when it changes, and keeps sessions", async () => {
    const document = (operationId: string): string => {
      const paths = { "/pets": { get: { operationId, responses: { 200: { description: "All pets" } } } } };
      const servers = [{ url: "https://pets.test" }];
      return JSON.stringify({ openapi: "3.1.0", info: { title: "Pets", version: "1" }, servers, paths });
    };
    await write("pets.json", document("list"));
    const openapi = { pets: { document: "./pets.json", operations: ["list"] } };
    await write("colloquy.config.json", JSON.stringify({ apps: { default: { openapi } } }));
    service = startIn(directory, {}, "dev");
    const [, address] = await service.find(OPEN);
    const headers = { "X-Session-Id": "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6", Prefer: "wait=10" };
    await fetch(`${address}/api/chat?message=Hello`, { method: "POST", headers });

    await edit("pets.json", document("find"), /^pets\.json changed\.$/m);
    await expect.poll(() => service.errors()).toContain("has no operation");
    const [, mended] = await edit("pets.json", `${document("list")}\n`, OPEN);
    const state = (await (await fetch(`${mended}/api/state`, { headers })).json()) as { messages: object[] };
    expect(state.messages[0]).toMatchObject({ content: "Hello" });
  });

  it("ends with a sentence about an invalid option", async () => {
    service = startIn(directory, {}, "dev", "--port", "99999");
    expect(await service.exited()).toEqual({ code: 2, signal: null });
    expect(service.errors()).toContain("  - --port: must be a number from 0 to 65535");
  });

  it("stops with the signal, and its service with it", async () => {
    service = startIn(directory, {}, "dev");
    const [, address] = await service.find(OPEN);
    service.child.kill("SIGTERM");
    expect(await service.exited()).toEqual({ code: 0, signal: null });
    await expect(fetch(`${address}/healthz`)).rejects.toThrow();
  });

  it("ends the service if the process that watches is killed", async () => {
    service = startIn(directory, {}, "dev");
    const [, address] = await service.find(OPEN);
    service.child.kill("SIGKILL");
    await expect
      .poll(() =>
        fetch(`${address}/healthz`).then(
          () => "serves",
          () => "ended",
        ),
      )
      .toBe("ended");
  });
});
