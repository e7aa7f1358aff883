// `colloquy reload` on nodes that share a database: --pid names the node.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../test/postgres-server.ts";
import { usePostgres } from "../test/use-postgres.ts";
import { endProcess, listening, type Listening, startIn } from "../test/watched-process.ts";

describe.skipIf(await isWithoutPostgres())("colloquy reload on PostgreSQL", () => {
  const server = usePostgres();
  let place = "";
  const services: Listening[] = [];
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "colloquy-main-"));
    await writeFile(join(place, "colloquy.config.json"), JSON.stringify({ apps: { default: {} } }));
    const COLLOQUY_DATABASE_URL = server.url(await server.createDatabase());
    for (const COLLOQUY_DATA_DIR of ["one", "two"])
      services.push(await listening(startIn(place, { COLLOQUY_DATABASE_URL, COLLOQUY_DATA_DIR })));
  });
  afterAll(async () => {
    for (const service of services) await endProcess(service);
    await rm(place, { recursive: true });
  });

  it("reloads the node that --pid names and no other, and asks for --pid without it", async () => {
    const environment = { COLLOQUY_DATABASE_URL: server.url("any") };
    const reload = async (...parameters: readonly string[]) => {
      const started = startIn(place, environment, "reload", "--data-dir", "one", ...parameters);
      const { code } = await started.exited();
      return { code, output: started.output(), errors: started.errors() };
    };
    expect(await reload()).toMatchObject({
      code: 2,
      errors: expect.stringContaining("name the process of one on this machine with --pid.") as string,
    });
    const pid = String(services[0]!.child.pid);
    await writeFile(join(place, "colloquy.config.json"), JSON.stringify({ apps: { default: {}, shop: {} } }));
    expect(await reload("--pid", pid)).toEqual({
      code: 0,
      output: "apps.shop is new.\nThe configuration is in force.\n",
      errors: "",
    });
    // The log line comes through another pipe than the command's exit.
    await expect.poll(() => services[0]!.output()).toContain("the configuration was applied");
    await writeFile(
      join(place, "colloquy.config.json"),
      JSON.stringify({ apps: { default: { colour: "blue" } } }),
    );
    expect(await reload("--pid", pid)).toMatchObject({
      code: 2,
      errors: expect.stringContaining("The old configuration stays in force") as string,
    });
    expect(services[1]!.output()).not.toContain("the configuration was applied");
  });
});
