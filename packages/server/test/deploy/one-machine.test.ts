// Follows the first section of docs/guides/operating.md: its own lines configure the service and nginx in
// front of it on the same machine. Each loopback address acts as a separate client.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectProblem, newSession, send } from "../black-box/client.ts";
import { Program } from "../black-box/server.ts";
import { isWithout } from "../programs.ts";
import { ROOT } from "./dockerfile.ts";
import { Nginx } from "./nginx.ts";

const run = promisify(execFile);
const GUIDE = await readFile(join(ROOT, "docs/guides/operating.md"), "utf8");
const NAME = "chat.example.com";

const isLeftOut = await isWithout("nginx", "openssl");

describe.skipIf(isLeftOut)("one machine, set up by the guide", () => {
  let program: Program;
  let nginx: Nginx;
  let adminKey: string;
  const streams = new Agent();
  beforeAll(async () => {
    const settings = await environmentOfTheGuide();
    adminKey = settings["COLLOQUY_ADMIN_KEY"] ?? "";
    program = await Program.start(JSON.parse(lineOf(/^echo '(\{.*\})' \|/m)) as object, settings);
    const original = await shell(
      lineOf(/^(sed -e .*nginx\.conf) \|$/m).replace("node_modules/@colloquy/server/dist", ROOT),
    );
    nginx = await Nginx.startWith(original, [["127.0.0.1:8080 ", `${new URL(program.url).host} `]]);
  });
  afterAll(async () => {
    streams.destroy();
    await nginx.stop();
    await program.remove();
  });

  /** Sends a request from this client address to the public host name. */
  function ask(client: string, path: string, call: Call = {}): Promise<Answered> {
    const { method = "GET", headers = {}, host = NAME, keep = false } = call;
    return new Promise((resolve, reject) => {
      const { port } = new URL(nginx.url);
      const outgoing = request({
        host: "127.0.0.1",
        port,
        path,
        method,
        localAddress: client,
        agent: keep ? streams : new Agent(),
        headers: { host, ...headers },
      });
      outgoing.once("error", reject).once("response", (response) => {
        const status = response.statusCode ?? 0;
        if (keep && status === 200) return resolve({ status, code: null });
        response.toArray().then((chunks: Buffer[]) => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ status, code: status < 400 ? null : (JSON.parse(text) as { code: string }).code });
        }, reject);
      });
      outgoing.end();
    });
  }

  it("answers to the public host name only", async () => {
    const headers = { "x-session-id": newSession() };
    expect(await ask("127.0.0.2", "/api/state", { headers })).toEqual({ status: 200, code: null });
    const foreign = { ...headers, host: "evil.example.net" };
    await expect(ask("127.0.0.2", "/api/state", { headers, host: foreign.host })).rejects.toThrow();
    const past = await send(program.url, "GET", "/api/state", { headers: foreign });
    expectProblem(past, 403, "host_not_allowed");
  });

  it("lists no wallet's conversations without proof", async () => {
    const headers = { "x-session-id": newSession() };
    const listed = await ask("127.0.0.2", "/api/sessions?public_key=0xsomebody", { headers });
    expect(listed).toEqual({ status: 403, code: "wallet_not_proved" });
  });

  it("limits each address to 120 new sessions a minute, whatever headers it sends", async () => {
    const begin = (client: string, claimed: string) =>
      ask(client, "/api/sessions", {
        method: "POST",
        headers: { "x-session-id": newSession(), "x-forwarded-for": claimed },
      });
    for (let count = 0; count < 120; count += 1) {
      expect((await begin("127.0.0.3", `192.0.2.${count}`)).status).toBe(200);
    }
    expect(await begin("127.0.0.3", "192.0.2.200")).toEqual({ status: 429, code: "rate_limited" });
    expect((await begin("127.0.0.4", "127.0.0.3")).status).toBe(200);
  });

  it("allows an address ten wrong admin keys a minute", async () => {
    const overview = (client: string, key: string, claimed: string) =>
      ask(client, "/api/admin/overview", {
        headers: { authorization: `Bearer ${key}`, "x-forwarded-for": claimed },
      });
    for (let count = 0; count < 10; count += 1) {
      const wrong = await overview("127.0.0.5", `a-guess-of-sixteen-${count}`, `192.0.2.${count}`);
      expect(wrong).toEqual({ status: 401, code: "admin_key_invalid" });
    }
    expect((await overview("127.0.0.5", adminKey, "192.0.2.99")).status).toBe(429);
    expect((await overview("127.0.0.6", adminKey, "127.0.0.5")).status).toBe(200);
  });

  it("allows ten streams per session", async () => {
    const headers = { "x-session-id": newSession(), accept: "text/event-stream" };
    const stream = () => ask("127.0.0.7", "/api/updates", { headers, keep: true });
    for (let count = 0; count < 10; count += 1) expect((await stream()).status).toBe(200);
    expect(await stream()).toEqual({ status: 429, code: "too_many_streams" });
  });

  it("restricts secrets of the App without a key to the machine itself", async () => {
    const secrets = await ask("127.0.0.8", "/api/secrets?client_id=somebody");
    expect(secrets).toEqual({ status: 403, code: "secrets_need_key" });
  });
});

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly host?: string;
  /** Leaves the answer open. */
  readonly keep?: boolean;
}

interface Answered {
  readonly status: number;
  /** Code of the problem document, `null` for a success. */
  readonly code: string | null;
}

/** Returns the guide's `/etc/colloquy.env` with fresh keys. */
async function environmentOfTheGuide(): Promise<Readonly<Record<string, string>>> {
  const block = /sudo tee \/etc\/colloquy\.env >\/dev\/null (<<END\n[\s\S]*?\nEND\n)/.exec(GUIDE)?.[1];
  if (block === undefined) throw new Error("The guide does not write /etc/colloquy.env");
  const lines = (await shell(`cat ${block}`)).trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

function lineOf(pattern: RegExp): string {
  const [, line] = pattern.exec(GUIDE) ?? [];
  if (line === undefined) throw new Error(`The guide has no line like ${pattern.source}`);
  return line;
}

async function shell(command: string): Promise<string> {
  return (await run("sh", ["-ec", command])).stdout;
}
