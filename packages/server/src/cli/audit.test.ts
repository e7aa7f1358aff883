import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "../config/load-config.ts";
import { openLocalStore } from "../wiring/local-store.ts";
import { recordedRun } from "./testing/recorded-run.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-cli-audit-"));
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify({ apps: { defi: {} } }));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

const run = (...parameters: readonly string[]) =>
  recordedRun(parameters, {
    loadConfig: () => loadConfig({ environment: {}, workingDirectory: directory }),
    openLocalStore: (need) =>
      openLocalStore({ dataDirectory: join(directory, "data"), secretKey: null }, need),
  });

it("lists what commands did, under the account of the machine", async () => {
  await run("keys", "create", "--app", "defi", "--name", "web");
  const { output } = await run("keys", "list", "--json");
  const [{ id }] = JSON.parse(output) as [{ id: string }];
  await run("keys", "revoke", id);
  await run("keys", "revoke", id);
  const listed = await run("audit", "--json");
  expect(JSON.parse(listed.output)).toMatchObject([
    { action: "key_revoked", target: id, actor: { kind: "command_line", name: userInfo().username } },
    { action: "key_created", target: id, details: { name: "web", apps: ["defi"] } },
  ]);
  const table = (await run("audit", "--action", "key_created", "--since", "1h")).output;
  expect(table.split("\n")[0]).toMatch(/^TIME +ACTION +BY +APP +TARGET +DETAILS$/);
  expect(table).toContain(`command_line ${userInfo().username}`);
  expect(table).not.toContain("key_revoked");
});

it("reports an empty result, and rejects an invalid option with a message", async () => {
  await run("keys", "create", "--app", "defi");
  expect((await run("audit", "--app", "nobody")).output).toBe("No entries match.\n");
  const wrong = await run("audit", "--limit", "0");
  expect(wrong.code).toBe(2);
  expect(wrong.errors).toContain("It must be a whole number from 1 to 200.");
});
