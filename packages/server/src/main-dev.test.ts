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
  await endProcess(service);
  await rm(directory, { recursive: true });
});

const write = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);
const CONFIG = `import { instructions } from "./parts/text.ts";
  export default { apps: { default: { instructions } } };`;

/** Edits a file. Resolves with the output after the edit, up to the pattern. */
async function edit(name: string, text: string, pattern: RegExp): Promise<string> {
  const before = service.output().length;
  await write(name, text);
  await service.find(pattern, before);
  return service.output().slice(before);
}

describe("colloquy dev", () => {
  it("prints the address, a curl command and readable lines, and reloads on a change of an imported file", async () => {
    await write("colloquy.config.ts", CONFIG);
    await write("parts/text.ts", 'export const instructions: string = "one";');
    service = startIn(directory, {}, "dev", "--data-dir", "elsewhere");
    const [, address] = await service.find(/Open in a browser: +(http:\S+)/);
    await service.find(/\d\d:\d\d:\d\d INFO {2}listening address=http/);
    expect(service.output()).toContain(`"${address}/api/chat?message=Hello"`);

    const taken = await edit(
      "parts/text.ts",
      'export const instructions = "two";',
      /instructions has changed/,
    );
    expect(taken).toMatch(
      /^parts\/text\.ts changed\.\nThe new configuration is in force\.\n {2}- apps\.default\.instructions has changed\.$/m,
    );
    const refused = await edit("colloquy.config.ts", CONFIG.replace("apps:", "colour: 1, apps:"), / {2}- /);
    expect(refused).toMatch(
      /^colloquy\.config\.ts changed\.\nThe old configuration stays in force: the new one has one problem\.\n {2}- colloquy\.config\.ts, colour: /,
    );
    expect((await fetch(`${address}/healthz`)).status).toBe(200);

    await edit("colloquy.config.ts", CONFIG.replace("parts/text", "parts/new"), /stays in force/);
    const made = await edit("parts/new.ts", 'export const instructions = "three";', /has changed/);
    expect(made).toContain("parts/new.ts changed.\nThe new configuration is in force.");
    await edit(".env", "PORT=1", /\.env has changed\. Restart colloquy dev to read it\./);
  });

  it("waits for the configuration to be valid", async () => {
    await write("colloquy.config.ts", "export default { colour: 1 };");
    service = startIn(directory, {}, "dev");
    await service.find(/ {2}- colloquy\.config\.ts, colour: [^\n]*\nColloquy starts when they are fixed\./);
    await edit("colloquy.config.ts", "export default {};", /Open in a browser/);
    const taken = await edit(
      "colloquy.config.ts",
      "export default { apps: { shop: {} } };",
      /apps\.shop is new/,
    );
    expect(taken).toContain("The new configuration is in force.");
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
    const [, address] = await service.find(/Open in a browser: +(http:\S+)/);
    const headers = { "X-Session-Id": "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6", Prefer: "wait=10" };
    await fetch(`${address}/api/chat?message=Hello`, { method: "POST", headers });

    const refused = await edit("pets.json", document("find"), /has no operation/);
    expect(refused).toMatch(/^pets\.json changed\.\nThe old configuration stays in force/m);
    const mended = await edit("pets.json", `${document("list")}\n`, /document has changed/);
    expect(mended).toMatch(
      /^pets\.json changed\.\nThe new configuration is in force\.\n {2}- apps\.default\.openapi\.pets\.document has changed\.$/m,
    );
    const state = (await (await fetch(`${address}/api/state`, { headers })).json()) as { messages: object[] };
    expect(state.messages[0]).toMatchObject({ content: "Hello" });
  });

  it("ends with a sentence about an invalid option", async () => {
    service = startIn(directory, {}, "dev", "--port", "99999");
    expect(await service.exited()).toEqual({ code: 2, signal: null });
    expect(service.errors()).toContain("  - --port: must be a number from 0 to 65535");
  });
});
