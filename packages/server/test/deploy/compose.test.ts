// Checks compose.yaml without Docker: its form, the consistency of its parts, and its commands with the real
// programs.

import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { DCLinter } from "dclint";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../src/config/load-config.ts";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { chat, newSession, send, whenIdle } from "../black-box/client.ts";
import { Program } from "../black-box/server.ts";
import { isWithoutPostgres, PostgresServer } from "../postgres-server.ts";
import { findProgram, isWithout } from "../programs.ts";
import { readStages, restsOf, ROOT } from "./dockerfile.ts";

const run = promisify(execFile);
const FILE = join(ROOT, "deploy/compose.yaml");

const Command = z.array(z.string());
const Service = z.looseObject({
  image: z.string(),
  restart: z.string().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  command: Command.optional(),
  environment: z.record(z.string(), z.string()).optional(),
  healthcheck: z.looseObject({ test: Command }).optional(),
  networks: z.unknown(),
  logging: z.unknown(),
});
const Subnet = z.object({ subnet: z.string() });
const Compose = z.looseObject({
  services: z.record(z.string(), Service),
  networks: z.looseObject({ front: z.object({ ipam: z.object({ config: z.array(Subnet) }) }) }),
});
const { services, networks } = Compose.parse(parse(await readFile(FILE, "utf8"), { merge: true }));
const nodes = Object.entries(services).filter(([name]) => name.startsWith("node-"));
const [, node] = nodes[0]!;

/** An operator's values in `.env`. */
const GIVEN = {
  POSTGRES_PASSWORD: "one",
  NATS_PASSWORD: "two",
  COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64"),
};

const withoutPostgres = await isWithoutPostgres();
const withoutNats = await isWithout("nats-server");

describe("compose.yaml", async () => {
  it("limits the logs of all services", () => {
    for (const [name, { logging }] of Object.entries(services))
      expect([name, logging]).toEqual([name, { driver: "local", options: expect.anything() }]);
  });

  it("passes its linter", () => {
    const linter = new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] });
    const found = linter
      .lintFiles([FILE], false)
      .flatMap(({ messages }: { readonly messages: readonly unknown[] }) => messages);
    expect(found).toEqual([]);
  });

  it("has the nodes named in nginx.conf, on the port that the image listens on", async () => {
    const settings = await readFile(join(ROOT, "deploy/nginx.conf"), "utf8");
    const upstreams = [...settings.matchAll(/^ +server ([\w-]+:\d+) /gm)].map(([, server]) => server);
    const last = (await readStages()).at(-1) ?? [];
    const port = restsOf(last, "EXPOSE")[0];
    expect(restsOf(last, "ENV")).toContain(`PORT=${port}`);
    expect([...new Set(upstreams)]).toEqual(nodes.map(([name]) => `${name}:${port}`));
  });

  it("gives nginx the only address that the nodes trust, and each node its own", () => {
    const proxy = node.environment!["COLLOQUY_TRUSTED_PROXIES"]!;
    const Front = z.object({ front: z.object({ ipv4_address: z.literal(proxy) }) });
    Front.parse(services["nginx"]!.networks);
    const network = ipaddr.parseCIDR(networks.front.ipam.config[0]!.subnet);
    expect(ipaddr.parse(proxy).match(network)).toBe(true);
    const Networks = z.object({ front: z.object({ ipv4_address: z.string() }), back: z.null() });
    const addresses = nodes.map(([, { networks }]) => Networks.parse(networks).front.ipv4_address);
    expect(new Set([proxy, ...addresses]).size).toBe(4);
    for (const address of addresses) expect(ipaddr.parse(address).match(network)).toBe(true);
  });

  it("lets nodes accept nginx's published name, unless .env names others", async () => {
    const settings = await readFile(join(ROOT, "deploy/nginx.conf"), "utf8");
    const names = /^ +server_name (.*);$/m.exec(settings)![1]!.split(" ");
    const hosts = (given: Readonly<Record<string, string>>) =>
      filled(node.environment!, {}, given)["COLLOQUY_ALLOWED_HOSTS"];
    expect(names).toContain(hosts({}));
    expect(hosts({ COLLOQUY_ALLOWED_HOSTS: "chat.test" })).toBe("chat.test");
  });

  it("gives the nodes valid variables", async () => {
    const environment = filled(node.environment!);
    const known = await readFile(join(ROOT, "example.env"), "utf8");
    for (const name of Object.keys(environment)) expect(known).toContain(`\n#${name}=`);
    const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
    expect(loaded).toMatchObject({ ok: true });
    expect(JSON.stringify(loaded)).not.toContain("${");
  });

  it("restarts everything after a reboot, and nodes whose database was down at their start", () => {
    const policies = Object.entries(services).map(([name, { restart }]) => [name, restart]);
    expect(policies).toEqual(Object.keys(services).map((name) => [name, "unless-stopped"]));
  });

  it("leaves process 1 to the image, whose init hides its environment", async () => {
    expect(node).not.toHaveProperty("init");
    expect(node).not.toHaveProperty("entrypoint");
    expect(node).not.toHaveProperty("command");
  });

  it("makes only /tmp and the image's data volume writable, and the volume belongs to the image's user", async () => {
    const last = (await readStages()).at(-1)!;
    const [uid, gid] = restsOf(last, "USER")[0]!.split(":");
    const data = restsOf(last, "ENV").find((pair) => pair.startsWith("COLLOQUY_DATA_DIR="))!;
    const folder = data.slice(data.indexOf("=") + 1);
    expect(node.read_only).toBe(true);
    expect(node.tmpfs).toEqual(["/tmp", `${folder}:uid=${uid},gid=${gid},mode=0700`]);
  });

  it("keeps files on a volume that all nodes share, in a directory of the image's user", async () => {
    const config = join(ROOT, "deploy/colloquy.config.json");
    const environment = { ...filled(node.environment!), COLLOQUY_CONFIG: config };
    expect(await loadConfig({ environment, workingDirectory: ROOT })).toMatchObject({ ok: true });
    const { files } = JSON.parse(await readFile(config, "utf8")) as { files: { path: string } };
    for (const [, { volumes }] of nodes) expect(volumes).toContain(`files:${files.path}`);
    const last = (await readStages()).at(-1)!;
    const [uid, gid] = restsOf(last, "USER")[0]!.split(":");
    const made = restsOf(last, "RUN").join("\n");
    expect(made).toMatch(
      new RegExp(`install --directory --owner=${uid} --group=${gid} .* ${files.path}$`, "m"),
    );
  });

  it("has a PostgreSQL version that nodes accept, with its data on a volume", () => {
    const { image, volumes } = services["postgres"]!;
    const version = Number(/^postgres:(\d+)-/.exec(image)?.[1]);
    expect(version).toBeGreaterThanOrEqual(15);
    // Images from version 18 on use a folder per version below /var/lib/postgresql.
    const folder = version < 18 ? "/var/lib/postgresql/data" : "/var/lib/postgresql";
    expect(volumes).toEqual([`postgres:${folder}`]);
  });

  it.skipIf(withoutPostgres || (await isWithout("pg_isready")))(
    "starts PostgreSQL with valid settings and a working health check",
    async () => {
      const server = await startPostgres();
      const isReady = () => succeeds(services["postgres"]!.healthcheck!.test, { 5432: server.port });
      try {
        expect(await isReady()).toBe(true);
        const database = await server.createDatabase();
        await (await openPostgresStore({ url: server.url(database) })).close();
        const [order] = await server.query(database, "SELECT 'B' < 'a' AS by_bytes");
        expect(order).toEqual({ by_bytes: true });
        await server.halt();
        expect(await isReady()).toBe(false);
      } finally {
        await server.stop();
      }
    },
    60_000,
  );

  it.skipIf(withoutNats || (await isWithout("wget")))(
    "starts NATS with valid arguments and a working health check",
    async () => {
      const nats = await startNats();
      const isWell = () => succeeds(services["nats"]!.healthcheck!.test, { 8222: nats.monitor });
      try {
        expect(await isWell()).toBe(true);
      } finally {
        await nats.stop();
      }
      expect(await isWell()).toBe(false);
    },
  );

  it.skipIf(withoutPostgres || withoutNats)(
    "starts a node that answers chats, with PostgreSQL, NATS and their passwords",
    async () => {
      const [server, nats] = await Promise.all([startPostgres(), startNats()]);
      let program: Program | null = null;
      try {
        await askForPassword(server);
        const environment = filled(node.environment!, {
          "@postgres:5432/": `@127.0.0.1:${server.port}/`,
          "@nats:4222": `@127.0.0.1:${nats.port}`,
        });
        program = await Program.start(null, { ...environment, HOST: "0.0.0.0" });
        const url = `http://127.0.0.1:${new URL(program.url).port}`;
        await expect.poll(async () => (await send(url, "GET", "/readyz")).status).toBe(200);
        const session = newSession();
        await chat(url, session, "what is 6*7");
        expect((await whenIdle(url, session)).messages.at(-1)?.content).toContain("42");
        // Clients authenticated by NATS.
        const clients = async () =>
          await (await fetch(`http://127.0.0.1:${nats.monitor}/connz?auth=1`)).text();
        await expect.poll(clients).toContain('"authorized_user": "colloquy"');
      } finally {
        await program?.remove();
        await server.stop();
        await nats.stop();
      }
    },
    120_000,
  );
});

/** Returns the variables of a service with `.env` filled in and addresses from `places` replaced. */
function filled(
  variables: Readonly<Record<string, string>>,
  places: Readonly<Record<string, string>> = {},
  given: Readonly<Record<string, string>> = GIVEN,
): Record<string, string> {
  const moved = (text: string) =>
    Object.entries(places).reduce((soFar, [from, to]) => soFar.replace(from, to), text);
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, moved(withGiven(value, given))]),
  );
}

function withGiven(text: string, given: Readonly<Record<string, string>> = GIVEN): string {
  return text.replaceAll(
    /\$\{(\w+):([?-])([^}]+)\}/g,
    (_all, word: string, kind: string, text: string) => given[word] ?? (kind === "-" ? text : ""),
  );
}

/** Starts a server with the settings and collation of the service. */
function startPostgres(): Promise<PostgresServer> {
  const { command, environment } = services["postgres"]!;
  const pairs = command!.filter((word) => word.includes("=")).map((word) => word.split("="));
  const making = environment!["POSTGRES_INITDB_ARGS"]!.split(" ");
  return PostgresServer.start(Object.fromEntries(pairs) as Record<string, string>, null, making);
}

/**
 * Creates the database and password as the image does at its first start. After that, a password is required.
 */
async function askForPassword(server: PostgresServer): Promise<void> {
  const {
    POSTGRES_DB: name,
    POSTGRES_USER: user,
    POSTGRES_PASSWORD: password,
  } = filled(services["postgres"]!.environment!);
  await server.query("postgres", `CREATE DATABASE ${name}`);
  await server.query(
    "postgres",
    `ALTER ROLE ${user} PASSWORD '${password}';
     DO $$ BEGIN
       EXECUTE format('COPY (SELECT ''host all all all scram-sha-256'') TO %L', current_setting('hba_file'));
     END $$;
     SELECT pg_reload_conf()`,
  );
  const asks = () =>
    server.query("postgres", "SELECT 1").then(
      () => false,
      () => true,
    );
  await expect.poll(asks).toBe(true);
}

interface Nats {
  readonly port: number;
  readonly monitor: number;
  stop(): Promise<void>;
}

/** Starts a server with the arguments of the service, on ports that it chooses itself. */
async function startNats(): Promise<Nats> {
  const words = services["nats"]!.command!.map((word) => withGiven(word).replace("8222", "-1"));
  const program = await findProgram("nats-server");
  const child = spawn(program!, ["--addr", "127.0.0.1", "--port", "-1", ...words], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let said = "";
  for await (const line of createInterface(child.stderr)) {
    said += `${line}\n`;
    if (line.includes("Server is ready")) break;
  }
  child.stderr.resume();
  expect(said).toContain("Server is ready");
  const portAfter = (text: string): number => Number(new RegExp(`${text} on \\S+:(\\d+)`).exec(said)?.[1]);
  const stop = async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { port: portAfter("client connections"), monitor: portAfter("http monitor"), stop };
}

/** Runs a health check of the form `["CMD", …]` with other ports. */
async function succeeds(test: readonly string[], ports: Readonly<Record<number, number>>): Promise<boolean> {
  const [form, program = "", ...words] = test.map((word) =>
    Object.entries(ports).reduce((text, [from, to]) => text.replace(from, String(to)), word),
  );
  expect(form).toBe("CMD");
  return run(program, words).then(
    () => true,
    () => false,
  );
}
