// Secrets of an App's users in the running program: only the tools of their turns receive them, no process
// shows them, and their master key can be rotated while the service runs.

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openLocalStore } from "../src/wiring/local-store.ts";
import { openVault } from "@colloquy/engine/internal/wiring/master-keys";
import { LEAKS } from "@colloquy/engine/internal/tools/testing/leaky-tool";
import { BARE_ENVIRONMENT } from "./bare-environment.ts";
import { newSession, send, whenIdle, type Answer, type Call } from "./black-box/client.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");
const SECRET = "canary+4f9A/8b7C6d5E";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** An App whose tool gets the secret and leaks it in various ways. */
const CONFIG = `
import { jsonSchema, tool } from ${JSON.stringify(import.meta.resolve("ai"))};
import { createHash } from "node:crypto";
import { LEAKS } from ${JSON.stringify(import.meta.resolve("../../engine/src/tools/testing/leaky-tool.ts"))};

const way = jsonSchema({ type: "object", properties: { way: { type: "string" } }, required: ["way"] });
export default {
  apps: {
    default: {},
    defi: {
      models: ["demo/assistant"],
      secrets: [{ name: "ALCHEMY_KEY", description: "Key of a provider" }],
      effects: { leak: "read" },
      tools: {
        leak: tool({
          description: "Leaks",
          inputSchema: way,
          execute: ({ way }, { context }) => {
            const secret = context.secret("ALCHEMY_KEY");
            const digest = createHash("sha256").update(secret).digest("hex");
            context.progress(LEAKS[way](secret));
            if (way === "plain") throw new Error("It failed with " + secret + " sha256 " + digest);
            return { leaked: LEAKS[way](secret), digest };
          },
        }),
      },
    },
  },
};`;

let directory = "";
const administered = () => ({ dataDirectory: join(directory, "data"), secretKey: null });
let server: ChildProcess | null = null;
let url = "";
let log = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-secrets-"));
  await writeFile(join(directory, "colloquy.config.mjs"), CONFIG);
  log = "";
});

afterEach(async () => {
  await stop("SIGKILL");
  await rm(directory, { recursive: true, force: true });
});

function program(...parameters: readonly string[]): ChildProcess {
  const environment = {
    ...BARE_ENVIRONMENT,
    PORT: "0",
    COLLOQUY_CONFIG: "colloquy.config.mjs",
    COLLOQUY_LOG_LEVEL: "trace",
  };
  return spawn(process.execPath, [MAIN, ...parameters], { cwd: directory, env: environment });
}

async function start(): Promise<void> {
  const child = program();
  server = child;
  child.stderr?.on("data", (bytes: Buffer) => (log += bytes.toString()));
  for await (const line of createInterface({ input: child.stdout! })) {
    log += `${line}\n`;
    const { msg, address = "" } = JSON.parse(line) as { msg?: string; address?: string };
    if (msg !== "listening") continue;
    url = address;
    child.stdout?.on("data", (bytes: Buffer) => (log += bytes.toString()));
    return;
  }
  throw new Error(`The program ended before it listened:\n${log}`);
}

async function stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const child = server;
  server = null;
  if (child === null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

async function command(...parameters: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = program(...parameters);
  let output = "";
  child.stdout?.on("data", (bytes: Buffer) => (output += bytes.toString()));
  child.stderr?.on("data", (bytes: Buffer) => (output += bytes.toString()));
  const [code] = (await once(child, "close")) as [unknown];
  return { code, output };
}

async function newKey(): Promise<string> {
  const { keys, actor, close } = await openLocalStore(administered());
  const input = { name: "", apps: ["defi"], scopes: [], expiresInMs: null };
  const { key } = await keys(["defi"]).createKey(input, actor);
  await close();
  return key;
}

function secrets(method: string, client: string, key: string, call: Call = {}): Promise<Answer> {
  const headers = { "SERVICE-APP-KEY": key };
  return send(url, method, `/api/secrets?app=defi&client_id=${client}`, { ...call, headers });
}

/** Returns everything that the service has stored on disk. */
async function kept(): Promise<string> {
  const data = join(directory, "data");
  const files = (await readdir(data)).map((name) => readFile(join(data, name), "latin1"));
  return (await Promise.all(files)).join("\n");
}

describe("secrets in a running service", () => {
  it("reach the tools of their client's turns, and do not leak in any known way", async () => {
    await start();
    const key = await newKey();
    const headers = { "SERVICE-APP-KEY": key };
    const set = await secrets("PUT", "web-1", key, { json: { ALCHEMY_KEY: SECRET } });
    expect([set.status, set.json()]).toEqual([200, ["ALCHEMY_KEY"]]);
    expect((await stat(join(directory, "data/secret.key"))).mode & 0o777).toBe(0o600);

    const say = async (session: string, client: string, way: string): Promise<string> => {
      const message = `call leak ${JSON.stringify({ way })}`;
      const query = new URLSearchParams({ app: "defi", client_id: client, message });
      await send(url, "POST", `/api/chat?${query.toString()}`, { session, headers });
      return JSON.stringify(await whenIdle(url, session));
    };
    const digest = createHash("sha256").update(SECRET).digest("hex");
    const session = newSession();
    await say(session, "web-1", "plain");
    const events = await openEvents(session);
    for (const way of Object.keys(LEAKS)) await say(session, "web-1", way);
    const stranger = await say(newSession(), "web-2", "plain");
    expect(stranger).toContain("ALCHEMY_KEY");
    expect(stranger).not.toContain(digest);

    const snapshot = JSON.stringify(await whenIdle(url, session));
    const records = await send(url, "GET", `/api/sessions/${session}/messages?limit=200`);
    await stop("SIGTERM");
    const told = [snapshot, records.text, events(), log, set.text].join("\n");
    const seen = `${told}\n${await kept()}`;
    // The tool received the secret each time.
    expect(snapshot.split(digest).length).toBeGreaterThan(Object.keys(LEAKS).length);
    for (const [way, leak] of Object.entries(LEAKS)) {
      if (way === "at the end of a long text") continue;
      expect([way, seen.includes(asText(leak(SECRET)))]).toEqual([way, false]);
    }
    for (const part of ["canary", "8b7C6d5E", btoa("canary+4f9").slice(0, 12)])
      expect(seen).not.toContain(part);
    // Too short to be searched for in the files: random base64 in them may contain it.
    expect(told).not.toContain("4f9A");
  });

  it("survive a crash, and a rotation of the master key that is killed half-way", async () => {
    await start();
    const key = await newKey();
    await secrets("PUT", "web-1", key, { json: { ALCHEMY_KEY: SECRET } });
    await stop("SIGKILL");
    const clients = await fillDirectly(1_500);
    await start();

    const before = await readFile(join(directory, "data/secret.key"), "utf8");
    const killed = program("secrets", "rotate-master");
    const exited = once(killed, "exit");
    await expect
      .poll(() => readFile(join(directory, "data/secret.key"), "utf8"), { interval: 1, timeout: 20_000 })
      .not.toBe(before);
    killed.kill("SIGKILL");
    await exited;
    // The service keeps reading and writing during the rotation.
    expect((await secrets("PUT", "web-2", key, { json: { ALCHEMY_KEY: "set meanwhile" } })).status).toBe(200);
    expect((await secrets("GET", "web-1", key)).json()).toEqual(["ALCHEMY_KEY"]);

    const { code, output } = await command("secrets", "rotate-master");
    expect([code, output]).toEqual([0, expect.stringMatching(/^The (interrupted )?rotation is complete: /)]);
    const [line = "", ...others] = (await readFile(join(directory, "data/secret.key"), "utf8"))
      .trim()
      .split("\n");
    expect(others).toEqual([]);
    expect(before).not.toContain(line);
    for (const client of ["web-1", "web-2", clients[0]!, clients.at(-1)!]) {
      expect((await secrets("GET", client, key)).json()).toEqual(["ALCHEMY_KEY"]);
    }
    expect((await secrets("DELETE", "web-2", key)).json()).toMatchObject({ removed: 1 });
    expect(log).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  it("are reported as unreadable if their key is lost, and no new key is created", async () => {
    await start();
    const key = await newKey();
    await secrets("PUT", "web-1", key, { json: { ALCHEMY_KEY: SECRET } });
    await stop("SIGTERM");
    const path = join(directory, "data/secret.key");
    const master = await readFile(path);
    await rm(path);
    await start();
    expect(log).toMatch(/"level":"error".*"secrets":1.*sealed by a master key that is not in/);
    expect((await secrets("GET", "web-1", key)).status).toBe(503);
    expect((await secrets("PUT", "web-2", key, { json: { ALCHEMY_KEY: "x" } })).status).toBe(503);
    await expect(stat(path)).rejects.toThrow("ENOENT");
    await writeFile(path, master, { mode: 0o600 });
    expect((await secrets("GET", "web-1", key)).json()).toEqual(["ALCHEMY_KEY"]);
  });
});

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value).slice(1, -1);
}

/** Collects all events of a session. */
async function openEvents(session: string): Promise<() => string> {
  const abort = new AbortController();
  const response = await fetch(`${url}/api/updates?include=tools,messages,state`, {
    headers: { "X-Session-Id": session, Accept: "text/event-stream", "Last-Event-ID": "0" },
    signal: abort.signal,
  });
  let text = "";
  void (async () => {
    for await (const bytes of response.body!) text += Buffer.from(bytes).toString();
  })().catch(() => undefined);
  return () => text;
}

/** Stores a secret for many clients, as the service would. */
async function fillDirectly(count: number): Promise<readonly string[]> {
  const settings = administered();
  const { store, close } = await openLocalStore(settings);
  const vault = openVault(settings, store.secrets, SILENT);
  const clients = Array.from({ length: count }, (_, index) => `many-${index}`);
  await Promise.all(clients.map((client) => vault.set("defi", client, { ALCHEMY_KEY: client })));
  await close();
  return clients;
}
