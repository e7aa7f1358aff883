// Checks the systemd unit without a running systemd: its form, its security rating, and that its restrictions
// do not affect the service.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findFreePort, ServerProcess } from "../../torture/harness/server-process.ts";
import { newSession, send } from "../black-box/client.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { isWithout } from "../programs.ts";
import { ROOT } from "./dockerfile.ts";

const run = promisify(execFile);
const UNIT = await readFile(join(ROOT, "deploy/colloquy.service"), "utf8");

const withoutSystemd = await isWithout("systemd-analyze");
const withoutTrace = await isWithout("strace", "systemd-analyze");

describe("the systemd unit", () => {
  let directory: string;
  let unit: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-unit-"));
    unit = join(directory, "colloquy.service");
    await writeFile(unit, UNIT.replaceAll("/opt/colloquy", ROOT));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it.skipIf(withoutSystemd)("passes systemd's checks without warnings", async () => {
    const { stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", unit]);
    expect(stdout + stderr).toBe("");
  });

  it.skipIf(withoutSystemd)("has valid lines for secrets in files, to enable when wanted", async () => {
    const lines = UNIT.match(/^#(?:LoadCredential|Environment)=.*$/gm) ?? [];
    const [credential, variable] = lines.map((line) => line.replace(/^#/, ""));
    await writeFile(
      unit,
      (await readFile(unit, "utf8")).replaceAll(/^#(?=LoadCredential|Environment)/gm, ""),
    );
    const { stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", unit]);
    expect(stdout + stderr).toBe("");
    const [, name] = /^LoadCredential=([\w-]+):\//.exec(credential!) ?? [];
    const [, given, path] = /^Environment=(\w+)=%d\/(.+)$/.exec(variable!) ?? [];
    expect(path).toBe(name);
    await writeFile(join(directory, "key"), "a-key_of/16.chars-in-a-file\n");
    const environment = { [given!]: join(directory, "key") };
    const loaded = await loadConfig({ environment, workingDirectory: directory });
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    expect(loaded.ok && loaded.config.adminKey?.reveal()).toBe("a-key_of/16.chars-in-a-file");
  });

  it.skipIf(withoutSystemd)("restricts a compromised service", async () => {
    // Out of 100; a service without restrictions gets 96.
    const rating = run("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit]);
    await expect(rating).resolves.toHaveProperty("stdout");
  });

  it("restarts the service however long the database is down, but not on a configuration error", async () => {
    const code = async (environment: Readonly<Record<string, string>>) => {
      const [command = "", ...parameters] = setting("ExecStart")[0]!
        .replaceAll("/opt/colloquy", ROOT)
        .split(" ");
      const env = { PATH: process.env["PATH"], COLLOQUY_DATA_DIR: directory, PORT: "0", ...environment };
      const ended = run(command, parameters, { cwd: ROOT, env });
      return await ended.then(
        () => "0",
        (error: { readonly code: unknown }) => String(error.code),
      );
    };
    const nobody = "postgres://colloquy@127.0.0.1:1/colloquy";
    const secrets = { COLLOQUY_SECRET_KEY: "0f1e".repeat(16) };
    expect(setting("Restart")).toEqual(["on-failure"]);
    expect(setting("StartLimitIntervalSec")).toEqual(["0"]);
    const stays = setting("RestartPreventExitStatus");
    expect(stays).not.toContain(await code({ COLLOQUY_DATABASE_URL: nobody, ...secrets }));
    expect(stays).toEqual([await code({ PORT: "none" })]);
    // Exit codes that prevent restarts apply to the main process only: a failing ExecStartPre would restart
    // forever.
    expect(setting("ExecStartPre")).toEqual([]);
  });

  it("creates its settings file as the guide does, whose commands read it as the service's user", async () => {
    const guide = await readFile(join(ROOT, "docs/guides/operating.md"), "utf8");
    const made = /install (-m \S+ .*\/etc\/colloquy\.env)/;
    expect(made.exec(UNIT)?.[1]).toBe("-m 640 -g colloquy /dev/null /etc/colloquy.env");
    expect(made.exec(guide)?.[1]).toBe(made.exec(UNIT)?.[1]);
  });

  it.skipIf(withoutTrace)(
    "allows every system call that the service makes",
    async () => {
      const log = join(directory, "calls");
      const port = await findFreePort();
      const server = new ServerProcess({
        main: join(ROOT, "packages/server/bin/colloquy.js"),
        directory,
        port,
        wrapper: ["strace", "-f", "-qq", "-c", "-o", log],
      });
      try {
        await server.ready(60_000);
        const url = `http://127.0.0.1:${port}`;
        const headers = { Prefer: "wait=20" };
        const answer = await send(url, "POST", "/api/chat?message=what%20is%206*7", {
          session: newSession(),
          headers,
        });
        expect(answer.text).toContain("42");
      } finally {
        await server.end("SIGTERM");
      }
      const made = [...(await readFile(log, "utf8")).matchAll(/^ +[\d.]+ .* (\w+)$/gm)].map(
        ([, name]) => name!,
      );
      expect(made).toEqual(expect.arrayContaining(["execve", "fsync", "epoll_ctl"]));
      const allowed = await allowedCalls();
      expect(made.filter((name) => name !== "total" && !allowed.has(name))).toEqual([]);
    },
    60_000,
  );
});

function setting(name: string): string[] {
  return [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** Returns the calls that the filter allows: groups apply in order, `~` removes. */
async function allowedCalls(): Promise<ReadonlySet<string>> {
  let allowed = new Set<string>();
  for (const line of setting("SystemCallFilter")) {
    const names = await Promise.all(line.replace("~", "").split(" ").map(callsOf));
    const calls = new Set(names.flat());
    allowed = line.startsWith("~") ? allowed.difference(calls) : allowed.union(calls);
  }
  return allowed;
}

/** Returns the calls of a group such as `@system-service`, and of nested groups. */
async function callsOf(name: string): Promise<readonly string[]> {
  if (!name.startsWith("@")) return [name];
  const { stdout } = await run("systemd-analyze", ["--no-pager", "syscall-filter", name]);
  const names = stdout
    .split("\n")
    .slice(1)
    .map((line) => line.trim());
  const inside = names.filter((line) => line !== "" && !line.startsWith("#"));
  return (await Promise.all(inside.map(callsOf))).flat();
}
