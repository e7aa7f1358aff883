// What can be known of compose.yaml without Docker: that its form is right, that its parts fit each other, and that the commands in
// it work with the programs that they are for.

import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DCLinter } from "dclint";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../src/config/load-config.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { freePort } from "../free-port.ts";
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
});
const Compose = z.looseObject({ services: z.record(z.string(), Service) });
const { services } = Compose.parse(parse(await readFile(FILE, "utf8"), { merge: true }));
const nodes = Object.entries(services).filter(([name]) => name.startsWith("node-"));
const [, node] = nodes[0]!;

const withoutPostgres = (await isWithoutPostgres()) || (await isWithout("pg_isready"));
const withoutNats = (await isWithout("nats-server")) || (await isWithout("wget"));

describe("compose.yaml", () => {
  it("is one that its linter has nothing to say about", () => {
    const linter = new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] });
    const found = linter
      .lintFiles([FILE], false)
      .flatMap(({ messages }: { readonly messages: readonly unknown[] }) => messages);
    expect(found).toEqual([]);
  });

  it("has the nodes that nginx.conf names, on the port that the image listens on", async () => {
    const settings = await readFile(join(ROOT, "deploy/nginx.conf"), "utf8");
    const upstreams = [...settings.matchAll(/^ +server ([\w-]+:\d+) /gm)].map(([, server]) => server);
    const last = (await readStages()).at(-1) ?? [];
    const port = restsOf(last, "EXPOSE")[0];
    expect(restsOf(last, "ENV")).toContain(`PORT=${port}`);
    expect([...new Set(upstreams)]).toEqual(nodes.map(([name]) => `${name}:${port}`));
  });

  it("gives the nodes addresses of the network whose proxies they trust", () => {
    const trusted = ipaddr.parseCIDR(node.environment!["COLLOQUY_TRUSTED_PROXIES"]!);
    const Networks = z.object({ front: z.object({ ipv4_address: z.string() }), back: z.null() });
    const addresses = nodes.map(([, { networks }]) => Networks.parse(networks).front.ipv4_address);
    expect(new Set(addresses).size).toBe(3);
    for (const address of addresses) expect(ipaddr.parse(address).match(trusted)).toBe(true);
  });

  it("gives the nodes variables that the service takes", async () => {
    const given = {
      POSTGRES_PASSWORD: "one",
      NATS_PASSWORD: "two",
      COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64"),
    };
    const environment = Object.fromEntries(
      Object.entries(node.environment!).map(([name, value]) => [
        name,
        value.replaceAll(/\$\{(\w+):\?[^}]+\}/g, (_all, word: keyof typeof given) => given[word]),
      ]),
    );
    const known = await readFile(join(ROOT, "example.env"), "utf8");
    for (const name of Object.keys(environment)) expect(known).toContain(`\n#${name}=`);
    const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
    expect(loaded).toMatchObject({ ok: true });
    expect(JSON.stringify(loaded)).not.toContain("${");
  });

  it("starts everything again after a restart of the machine, and nodes whose database was away when they started", () => {
    const policies = Object.entries(services).map(([name, { restart }]) => [name, restart]);
    expect(policies).toEqual(Object.keys(services).map((name) => [name, "unless-stopped"]));
  });

  it("lets nodes write to what the image keeps data in, as the user of the image, and to /tmp alone", async () => {
    const last = (await readStages()).at(-1)!;
    const [uid, gid] = restsOf(last, "USER")[0]!.split(":");
    const data = restsOf(last, "ENV").find((pair) => pair.startsWith("COLLOQUY_DATA_DIR="))!;
    const folder = data.slice(data.indexOf("=") + 1);
    expect(node.read_only).toBe(true);
    expect(node.tmpfs).toEqual(["/tmp", `${folder}:uid=${uid},gid=${gid},mode=0700`]);
  });

  it("has a PostgreSQL that nodes take, and keeps its data where that image has them", () => {
    const { image, volumes } = services["postgres"]!;
    const version = Number(/^postgres:(\d+)-/.exec(image)?.[1]);
    expect(version).toBeGreaterThanOrEqual(15);
    // Its images keep them in a folder of their version from 18 on, below /var/lib/postgresql.
    const folder = version < 18 ? "/var/lib/postgresql/data" : "/var/lib/postgresql";
    expect(volumes).toEqual([`postgres:${folder}`]);
  });

  it.skipIf(withoutPostgres)(
    "starts PostgreSQL with settings that it takes, and asks it whether it is ready",
    async () => {
      const pairs = services["postgres"]!.command!.filter((word) => word.includes("=")).map((word) =>
        word.split("="),
      );
      const making = services["postgres"]!.environment!["POSTGRES_INITDB_ARGS"]!.split(" ");
      const server = await PostgresServer.start(
        Object.fromEntries(pairs) as Record<string, string>,
        null,
        making,
      );
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

  it.skipIf(withoutNats)("starts NATS with words that it takes, and asks it whether it is well", async () => {
    const [clients, monitor] = [await freePort(), await freePort()];
    const words = services["nats"]!.command!.map((word) => word.replace("8222", String(monitor)));
    const program = await findProgram("nats-server");
    const child = spawn(program!, ["--addr", "127.0.0.1", "--port", String(clients), ...words], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const isWell = () => succeeds(services["nats"]!.healthcheck!.test, { 8222: monitor });
    try {
      let said = "";
      for await (const text of child.stderr.setEncoding("utf8")) {
        said += String(text);
        if (said.includes("Server is ready")) break;
      }
      expect(said).toContain("Server is ready");
      expect(await isWell()).toBe(true);
    } finally {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    }
    expect(await isWell()).toBe(false);
  });
});

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
