// SIGHUP reloads the configuration file; the process keeps running whatever the file contains.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endProcess, listening, type Listening, type Started, startIn } from "../test/watched-process.ts";

const SESSION = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";
const ADMIN_KEY = "admin-key-of-the-reload-test";
const WRONG_PLACEHOLDER = {
  apps: { default: { mcp: { maps: { url: "https://x.test", headers: { A: "{{env.toString}}" } } } } },
};

/** Starts a service with this configuration file, shared by a group of tests. */
function useListening(file: string, text: string, environment: (path: string) => Record<string, string>) {
  let place = "";
  let started: Started | null = null;
  let service: Listening;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "colloquy-main-"));
    await writeFile(join(place, file), text);
    started = startIn(place, environment(join(place, file)));
    service = await listening(started);
  });
  afterAll(async () => {
    if (started !== null) await endProcess(started);
    await rm(place, { recursive: true });
  });
  return {
    running: () => service,
    place: () => place,
    write: (content: string) => writeFile(join(place, file), content),
    remove: () => rm(join(place, file)),
    /** Sends SIGHUP. Returns a function that searches the output after it. */
    hangUp() {
      const before = service.output().length;
      service.child.kill("SIGHUP");
      return (pattern: RegExp): Promise<RegExpExecArray> => service.find(pattern, before);
    },
  };
}

const text = (apps: unknown, more: object = {}): string => JSON.stringify({ apps, ...more });

describe("the first SIGHUP", () => {
  const { write, remove, hangUp } = useListening(
    "colloquy.config.json",
    text({ default: {}, shop: {} }),
    () => ({}),
  );

  it("keeps the old configuration if the file is gone, and reads the next file", async () => {
    await remove();
    const find = hangUp();
    await find(/"source":"colloquy.config.json","location":"","msg":"no longer exists/);
    await find(/"msg":"the configuration was rejected: the old one stays active"/);
    await write(text({ default: {}, books: {} }));
    const [taken] = await hangUp()(/"changes":\[.*\],"msg":"the configuration was applied"/);
    expect(taken).toContain('"apps.shop is gone.","apps.books is new."');
  });
});

describe("SIGHUP", () => {
  const { running, write, hangUp } = useListening(
    "colloquy.config.json",
    text({ default: { models: ["demo/assistant"] } }),
    () => ({ COLLOQUY_ADMIN_KEY: ADMIN_KEY }),
  );
  const local = { providers: { a: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } } };
  const models = async (): Promise<unknown> =>
    (await fetch(`${running().address}/api/control/models`)).json();
  /** Resolves when this configuration is in force. */
  const takenOver = async (apps: object): Promise<void> => {
    await write(text(apps));
    await hangUp()(/"msg":"the configuration was applied"/);
  };

  it("reloads the file and keeps open streams", async () => {
    const { address } = running();
    await takenOver({ default: { models: ["demo/assistant"] } });
    const headers = { "X-Session-Id": SESSION, Accept: "text/event-stream" };
    const stream = await fetch(`${address}/api/updates?include=messages`, { headers });
    expect(await models()).toEqual(["demo/assistant"]);
    const more = { ...local, limits: { maxSteps: 3 } };
    await write(text({ default: { models: ["demo/assistant", "a/b"] }, shop: {} }, more));
    const find = hangUp();
    const [taken] = await find(/"changes":\[.*\],"msg":"the configuration was applied"/);
    expect(taken).toContain('["apps.default.models has changed.","apps.shop is new.","providers.a is new."]');
    await find(/"msg":"limits.maxSteps has changed. Restart the service/);
    expect(await models()).toEqual(["demo/assistant", "a/b"]);
    await fetch(`${address}/api/chat?message=hello`, {
      method: "POST",
      headers: { "X-Session-Id": SESSION },
    });
    let seen = "";
    for await (const part of stream.body ?? []) {
      seen += Buffer.from(part).toString();
      if (seen.includes("message_completed")) break;
    }
    expect(seen).toContain("hello");
  });

  it("is in the audit trail", async () => {
    await takenOver({ default: { instructions: "zero" } });
    const { address } = running();
    const entries = async (): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${ADMIN_KEY}` };
      const answer = await fetch(`${address}/api/admin/audit?action=config_reloaded&limit=1`, { headers });
      return ((await answer.json()) as { entries: unknown }).entries;
    };
    await expect
      .poll(entries)
      .toMatchObject([{ actor: { kind: "service" }, target: null, details: { warnings: 0 } }]);
  });

  it("keeps the old configuration if the new one is invalid, and logs every problem", async () => {
    await takenOver({ default: { instructions: "one" } });
    await write(text({ default: { models: ["gone/x"], colour: "blue" } }));
    const find = hangUp();
    await find(/"problems":2,"msg":"the configuration was rejected: the old one stays active"/);
    await find(/"location":"apps.default.colour"/);
    await find(/"location":"apps.default.models\[0\]"/);
    expect(await models()).toEqual(["demo/assistant"]);
    await takenOver({ default: {}, shop: {} });
  });
});

describe("colloquy reload", () => {
  const { running, place, write } = useListening("colloquy.config.json", text({ default: {} }), () => ({}));
  const reload = async (...parameters: readonly string[]) => {
    const started = startIn(place(), {}, "reload", ...parameters);
    const { code } = await started.exited();
    return { code, output: started.output(), errors: started.errors() };
  };

  it("waits until the new configuration is active, and prints the changes", async () => {
    await write(text({ default: { instructions: "Be brief." } }));
    expect(await reload()).toEqual({
      code: 0,
      output: "apps.default.instructions has changed.\nThe configuration is in force.\n",
      errors: "",
    });
    expect(running().output()).toContain("the configuration was applied");
    const { code, output } = await reload("--json");
    expect({ code, outcome: JSON.parse(output) as unknown }).toEqual({
      code: 0,
      outcome: { ok: true, changes: [], warnings: [] },
    });
  });

  it("prints every problem of a refused configuration, and exits with 2", async () => {
    await write(text({ default: { colour: "blue" } }));
    const { code, output, errors } = await reload();
    expect({ code, output }).toEqual({ code: 2, output: "" });
    expect(errors).toMatch(
      /^The old configuration stays in force: the new one has one problem\.\n {2}- colloquy\.config\.json, apps\.default\.colour: /,
    );
    expect((await fetch(`${running().address}/healthz`)).status).toBe(200);
  });

  it("gives advice if no service is running, and sends no signal to another program", async () => {
    expect(await reload("--data-dir", "elsewhere")).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /^Colloquy: No service runs on the data directory .* --data-dir\. .* --pid\.\n$/,
      ) as string,
    });
    expect(await reload("--pid", String(process.pid))).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^Colloquy: Process \d+ is no service that reloads/) as string,
    });
  });
});

describe("SIGHUP during the start", () => {
  const slow =
    'console.log("is read"); await new Promise((done) => process.once("SIGHUP", done)); export default {};';
  let place = "";
  let started: Started;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "colloquy-main-"));
    await writeFile(join(place, "colloquy.config.mjs"), slow);
    started = startIn(place, { COLLOQUY_CONFIG: join(place, "colloquy.config.mjs") });
  });
  afterAll(async () => {
    await endProcess(started);
    await rm(place, { recursive: true });
  });

  it("does not end the process; the reload follows the start", async () => {
    await started.find(/is read/);
    await writeFile(
      join(place, "colloquy.config.mjs"),
      "export default { apps: { default: {}, shop: {} } };",
    );
    started.child.kill("SIGHUP");
    await started.find(/"msg":"listening"/);
    const [taken] = await started.find(/"changes":\[.*\],"msg":"the configuration was applied"/);
    expect(taken).toContain("apps.shop is new.");
  });
});

describe("SIGHUP with a file that cannot be read", () => {
  // The time limit of a read expires at once while the file contains `late`.
  const plant = (file: string): string => `import { readFileSync } from "node:fs";
    const isOver = (ms) => ms === 15_000 && readFileSync(${JSON.stringify(file)}, "utf8").includes("late");
    const wait = setTimeout;
    globalThis.setTimeout = (run, ms) => wait(run, isOver(ms) ? 0 : ms);`;
  const { running, write, hangUp } = useListening("colloquy.config.mjs", "export default {};", (path) => ({
    COLLOQUY_CONFIG: path,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(plant(path))}`,
  }));

  it.each([
    ["never comes", "/* late */ await new Promise(() => {}); export default {};", "did not load within 15 s"],
    [
      "exports what never comes",
      "/* late */ export default new Promise(() => {});",
      "did not load within 15 s",
    ],
    ["names no variable", `export default ${JSON.stringify(WRONG_PLACEHOLDER)};`, "toString is not set"],
    [
      "throws nothing that can be shown",
      "throw { toString() { throw 1; } };",
      "threw a value that is not an Error",
    ],
  ])("keeps the old configuration and reads the next one: it %s", async (_case, text, told) => {
    await write(text);
    const find = hangUp();
    await find(new RegExp(`"msg":"[^\n]*${told}`));
    await find(/"msg":"the configuration was rejected: the old one stays active"/);
    expect((await fetch(`${running().address}/healthz`)).status).toBe(200);
    await write("export default {};");
    await hangUp()(/"msg":"the configuration was applied"/);
    await write("export default { apps: { default: {}, shop: {} } };");
    await hangUp()(/"changes":\["apps.shop is new."\],"msg":"the configuration was applied"/);
  });
});

describe("SIGHUP with a file that never loads", () => {
  const { running, write, hangUp } = useListening("colloquy.config.mjs", "export default {};", (path) => ({
    COLLOQUY_CONFIG: path,
  }));

  it("stops gracefully on SIGTERM during a reload, without reporting a problem of the file", async () => {
    const { child, errors, exited, find } = running();
    await write('console.log("is read"); await new Promise(() => {}); export default {};');
    await hangUp()(/is read/);
    child.kill("SIGTERM");
    expect(await exited()).toEqual({ code: 0, signal: null });
    await find(/"msg":"stopped"/);
    expect(errors()).toBe("");
  });
});
