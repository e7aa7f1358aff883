// Runs every example of every `--help` in a shell, with a service and with placeholders filled in.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createClient } from "@colloquy/client";
import { FILES as SAMPLES } from "@colloquy/engine/internal/files/testing/sample-files";
import { recordedRun } from "../../src/cli/testing/recorded-run.ts";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { Issuer } from "../issuer.ts";
import { isWithoutPostgres } from "../postgres-server.ts";
import { usePostgres } from "../use-postgres.ts";
import { Service } from "./service.ts";
import { MAIN } from "./terminal.ts";

// Long, because processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const WALLET = "0x52908400098527886E0F7030069857D2E4169EE7";
const ADMIN_KEY = "command-line-admin-key-0123456789";
/** Files that examples write and read. */
const FILES = ["session.jsonl", "wallet.jsonl", "alice.jsonl"];
const DATA = "/var/lib/colloquy";
const KEY_ID = /(?<=keys (?:rotate|revoke) )\S+/;
const ACTION_ID = "0b8f3c1e-7d24-4f5a-9c36-e1a2b3c4d5f6";
const SESSION_ID = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";
/** Examples that run until they are stopped. */
const LASTING = [/colloquy (?:serve|dev)\b/, /^colloquy chat$/, /^colloquy chat --url/];

/**
 * Returns the lines below `Example:` or `Examples:` of a command and its subcommands, without explanations.
 */
async function examplesOf(path: readonly string[] = []): Promise<readonly string[]> {
  const { output } = await recordedRun([...path, "--help"]);
  const [, examples = ""] = /\nExamples?:\n((?: {2}.+\n)+)/.exec(output) ?? [];
  const [, commands = ""] = /\nCommands:\n((?: {2}.+\n)+)/.exec(output) ?? [];
  const names = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
  const below = await Promise.all(
    names.filter((name) => name !== "help").map((name) => examplesOf([...path, name])),
  );
  const own = examples.split("\n").flatMap((line) => {
    const [example = ""] = line.trim().split(/ {2,}/);
    return example === "" ? [] : [example];
  });
  return [...own, ...below.flat()];
}

/** Replaces the example's session id with a placeholder. */
function withoutId(example: string): string {
  return example.replace(KEY_ID, "ID");
}

const ALL = [...new Map((await examplesOf()).map((example) => [withoutId(example), example])).values()];
const [MOVES, OTHERS] = [true, false].map((moves) =>
  ALL.filter((example) => example.startsWith("colloquy migrate") === moves),
) as [string[], string[]];

let service: Service;
let issuer: Issuer;
let programs = "";

beforeAll(async () => {
  issuer = await Issuer.start();
  const config = {
    apps: {
      default: {},
      defi: { requireKey: "chat" },
      games: { requireKey: "chat" },
      support: {
        users: { issuer: issuer.url, audience: "support", required: true },
        tools: ["calculator"],
        approvals: { calculator: { when: "always", approvers: { claim: "sub", values: ["mia"] } } },
      },
    },
  };
  service = await Service.start({ config, environment: { COLLOQUY_ADMIN_KEY: ADMIN_KEY } });
  await writeFile(join(service.directory, "staging.json"), JSON.stringify(config));
  await writeFile(join(service.directory, "photo.jpg"), SAMPLES.jpeg);
  const erased = { at: "2026-11-21T09:00:00.000Z", owner: null, public_key: WALLET, app: null };
  await writeFile(join(service.directory, "colloquy.log"), JSON.stringify({ erased }));
  // Stubs of programs that the examples call.
  programs = await mkdtemp(join(tmpdir(), "colloquy-examples-"));
  await program("colloquy", `exec "${process.execPath}" "${MAIN}" "$@"`);
  await program("git", 'echo "-one"; echo "+two"');
  for (const folder of [".local/share/bash-completion/completions", ".config/fish/completions", "zsh"]) {
    await mkdir(join(service.directory, folder), { recursive: true });
  }
});
afterAll(async () => {
  await service.remove();
  await issuer.stop();
  await rm(programs, { recursive: true });
});

async function program(name: string, does: string): Promise<void> {
  await writeFile(join(programs, name), `#!/bin/sh\n${does}\n`);
  await chmod(join(programs, name), 0o755);
}

function environment(): Record<string, string> {
  const path = `${programs}:${process.env["PATH"] ?? ""}`;
  return { ...service.environment, PATH: path, HOME: service.directory };
}

interface Typed {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

function type(line: string, more: Record<string, string> = {}): Promise<Typed> {
  const { promise, resolve } = Promise.withResolvers<Typed>();
  const options = { cwd: service.directory, env: { ...environment(), ...more } };
  const child = execFile("bash", ["-c", `fpath=(- zsh); ${line}`], options, (error, output, errors) =>
    resolve({ code: error === null ? 0 : Number(error.code), output, errors }),
  );
  child.stdin?.end();
  return promise;
}

/** Sends a message that leads to a call for an approver. Returns the id of its action. */
async function pendingAction(): Promise<string> {
  const token = await issuer.token("uma", "support");
  const session = createClient({ baseUrl: service.url, app: "support", token: () => token }).session();
  const { pending_actions } = await session.send("what is 12 * 7?", { wait: true });
  session.stop();
  return pending_actions[0]?.id ?? "";
}

/** Returns the example with fresh values for its placeholders. */
async function filledIn(example: string): Promise<string> {
  const line = example.replace("COMMAND", "keys").replace("0x12ab34cd", WALLET);
  if (line.includes(ACTION_ID)) return line.replace(ACTION_ID, await pendingAction());
  if (KEY_ID.test(line)) {
    const made = await service.command(["keys", "create", "--app", "defi", "--json"]);
    const { id } = JSON.parse(made.output) as { readonly id: string };
    return line.replace(KEY_ID, id);
  }
  if (![SESSION_ID, WALLET, ...FILES].some((named) => line.includes(named))) return line;
  const session = service.client.session();
  await session.send("count to 2", { wait: true, publicKey: WALLET });
  session.stop();
  await Promise.all(FILES.map((name) => rm(join(service.directory, name), { force: true })));
  if (line.startsWith("colloquy import")) {
    const { output } = await service.command(["export", "--session", session.id]);
    await Promise.all(FILES.map((name) => writeFile(join(service.directory, name), output)));
    await service.command(["sessions", "delete", session.id]);
  }
  return line.replace(SESSION_ID, session.id);
}

it("exist for every command", () => {
  const commands = new Set(ALL.flatMap((example) => /\bcolloquy ([a-z]+)/.exec(example)?.[1] ?? []));
  const names =
    "acp approvals audit chat check completion dev doctor export feedback import keys migrate schema secrets seed serve sessions users".split(
      " ",
    );
  expect([...commands].toSorted()).toEqual(names);
});

describe("finite examples", () => {
  it.each(OTHERS.filter((example) => !LASTING.some((lasting) => lasting.test(example))))(
    "%s",
    async (example) => {
      const line = await filledIn(example);
      // As its help says, a server that runs alone would keep the replaced data in memory.
      const isWithout = line.includes("--replace");
      if (isWithout) await service.stop();
      const isApprover = line.startsWith("colloquy approvals");
      const more = isApprover ? { COLLOQUY_TOKEN: await issuer.token("mia", "support") } : {};
      expect(await type(line, more)).toMatchObject({ code: 0 });
      if (isWithout) await service.run();
    },
  );
});

/** Runs a service by this command for the duration of `use`. */
async function whileServing(
  line: string,
  more: Record<string, string>,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const child = spawn("bash", ["-c", line.replace("colloquy", "exec colloquy")], {
    cwd: service.directory,
    env: { ...environment(), ...more },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  let address = "";
  for await (const printed of createInterface({ input: child.stdout })) {
    address = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0] ?? "";
    if (address !== "") break;
  }
  child.stdout.resume();
  await use(address);
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
}

/** Returns a free port and a new data directory. */
async function freshPlace() {
  const port = String(await findFreePort());
  const data = join(service.directory, port);
  return { port, data, variables: { PORT: port, COLLOQUY_DATA_DIR: data } };
}

describe("long-running examples", () => {
  it.each(OTHERS.filter((example) => /colloquy (?:serve|dev)\b/.test(example)))("%s", async (example) => {
    const { port, data, variables } = await freshPlace();
    const line = example.replace("9000", port).replace(DATA, data);
    await whileServing(line, variables, async (address) => {
      expect(new URL(address).port).toBe(port);
      expect((await fetch(`${address}/healthz`)).status).toBe(200);
    });
  });

  it.each(OTHERS.filter((example) => example.startsWith("colloquy chat --url")))(
    "%s answers a request",
    async (example) => {
      const made = await service.command(["keys", "create", "--app", "defi", "--json"]);
      const { key } = JSON.parse(made.output) as { readonly key: string };
      const line = `${example.replace("https://chat.example.com", service.url)} "count to 3"`;
      expect(await type(line, { COLLOQUY_APP_KEY: key })).toEqual({ code: 0, output: "1 2 3\n", errors: "" });
    },
  );
});

describe.skipIf(await isWithoutPostgres())("examples with PostgreSQL", () => {
  const postgres = usePostgres();

  it.each(MOVES)("%s", async (example) => {
    await service.stop();
    await type("rm -rf moved && cp -r data moved");
    const database = postgres.url(await postgres.createDatabase());
    const there = `colloquy migrate --from sqlite:./moved --to ${database}`;
    const line = example
      .replace(/postgres:\S+/, database)
      .replace("--from sqlite:./data", "--from sqlite:./moved")
      .replace("--to sqlite:./data", "--to sqlite:./back");
    // An export back needs data in the database.
    if (example.includes("--from postgres")) expect(await type(there)).toMatchObject({ code: 0 });
    const moved = await type(line);
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.output).toContain("All rows are copied");
    await service.run();
  });
});
