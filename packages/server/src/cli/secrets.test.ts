import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../test/postgres-server.ts";
import postgres from "@colloquy/postgres";
import { type LocalStoreSettings, openLocalStore } from "../wiring/local-store.ts";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import { openVault, type MasterKeySettings } from "@colloquy/engine/internal/wiring/master-keys";
import { lockFile } from "@colloquy/engine/internal/store/sqlite/lock";
import { recordedRun } from "./testing/recorded-run.ts";

const KEY = "0f1e".repeat(16);
const logger = { debug() {}, info() {}, warn() {}, error() {} };

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-cli-secrets-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

function settings(secretKey: string | null): MasterKeySettings {
  return { dataDirectory: directory, secretKey: secretKey === null ? null : new Hidden(secretKey) };
}

const run = (
  parameters: readonly string[],
  secretKey: string | null = null,
  more: Partial<LocalStoreSettings> = {},
) =>
  recordedRun(["secrets", "rotate-master", ...parameters], {
    openLocalStore: (need) => openLocalStore({ ...settings(secretKey), ...more }, need),
  });

/** Accesses the store as a server on this directory would. */
async function withVault<Result>(
  secretKey: string | null,
  work: (vault: ReturnType<typeof openVault>) => Promise<Result>,
): Promise<Result> {
  const { store, close } = await openLocalStore(settings(secretKey));
  try {
    return await work(openVault(settings(secretKey), store.secrets, logger));
  } finally {
    await close();
  }
}

const fill = (secretKey: string | null) =>
  withVault(secretKey, (vault) => vault.set("defi", "web-1", { A: "hunter22", B: "hunter33" }));
const opened = async (secretKey: string | null) =>
  Object.fromEntries(await withVault(secretKey, (vault) => vault.open("defi", "web-1")));

describe("secrets rotate-master", () => {
  it("encrypts all secrets with a new key and prints no key or value", async () => {
    await fill(null);
    const before = await readFile(join(directory, "secret.key"), "utf8");
    const { code, output, errors } = await run([]);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output).toMatch(
      /^The rotation is complete: 2 secrets encrypted with the new master key [0-9a-f]{16}\.\n/,
    );
    const after = await readFile(join(directory, "secret.key"), "utf8");
    expect(after).not.toBe(before);
    for (const text of [before.trim(), after.trim(), "hunter"]) expect(output).not.toContain(text);
    expect(await opened(null)).toEqual({ A: "hunter22", B: "hunter33" });
  });

  it("prints one document with --json", async () => {
    await fill(null);
    const { code, output } = await run(["--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toEqual({
      outcome: "done",
      key_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      resealed: 2,
      discarded: 0,
      resumed: false,
    });
  });

  it("reports a missing database and creates nothing", async () => {
    for (const secretKey of [null, KEY]) {
      expect(await run([], secretKey)).toEqual({
        code: 1,
        output: "",
        errors: expect.stringMatching(/^Colloquy: There is no Colloquy database in \S+ yet\. /) as string,
      });
    }
    expect(await readdir(directory)).toEqual([]);
  });

  it("reports that there is nothing to rotate", async () => {
    await opened(null);
    expect(await run([])).toMatchObject({ code: 0, output: expect.stringContaining("nothing to rotate") });
    expect(JSON.parse((await run(["--json"])).output)).toEqual({ outcome: "no_key" });
  });

  it("guides through the rotation of COLLOQUY_SECRET_KEY", async () => {
    await fill(KEY);
    const first = await run([], KEY);
    expect(first.code).toBe(0);
    const next = `${/^ {2}(\S+)$/m.exec(first.output)?.[1] ?? ""},${KEY}`;
    const { output } = await run(["--json"], KEY);
    expect(JSON.parse(output)).toEqual({
      outcome: "key_needed",
      new_key: expect.stringMatching(/^[^,]{32,}$/) as string,
    });
    for (const printed of [first.output, first.errors, output]) expect(printed).not.toContain(KEY);
    const second = await run([], next);
    expect(second).toMatchObject({ code: 0, errors: "" });
    expect(second.output).toContain("2 secrets encrypted with the new master key");
    expect(second.output).toContain("Now set COLLOQUY_SECRET_KEY to the first of its keys only");
    expect(await opened(next.split(",")[0] ?? "")).toEqual({ A: "hunter22", B: "hunter33" });
  });

  it("exits with 1 and advice if some secrets cannot be decrypted", async () => {
    await fill(null);
    const { store, close } = await openLocalStore(settings(null));
    const [a, b] = await store.secrets.of("defi", "web-1");
    if (a === undefined || b === undefined) throw new Error("nothing is sealed");
    await store.secrets.put([{ ...a, sealed: b.sealed }]);
    await close();
    const { code, output, errors } = await run([]);
    expect(code).toBe(1);
    expect(output).toContain("The old key is kept.");
    expect(errors).toMatch(
      /1 secret cannot be decrypted[\s\S]*App defi, client web-1, slot A[\s\S]*--discard-unreadable/,
    );
    const asJson = await run(["--json"]);
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.output)).toMatchObject({
      outcome: "unreadable",
      unreadable: [{ app: "defi", client_id: "web-1", name: "A" }],
    });
    expect((await run(["--discard-unreadable"])).output).toContain(
      "1 secret removed that no key could decrypt",
    );
    expect(await opened(null)).toEqual({ B: "hunter33" });
  });

  it("exits with 1 and changes nothing if a key is missing or wrong, or another rotation runs", async () => {
    await fill(null);
    const key = await readFile(join(directory, "secret.key"), "utf8");
    const lock = lockFile(join(directory, "secrets.lock"));
    expect(await run([])).toMatchObject({ code: 1, errors: expect.stringContaining("in progress") });
    lock?.release();
    expect(await run([], KEY)).toMatchObject({
      code: 1,
      errors: expect.stringContaining("not in COLLOQUY_SECRET_KEY"),
    });
    await writeFile(join(directory, "secret.key"), "hunter44");
    const wrong = await run([]);
    expect(wrong).toMatchObject({ code: 1, errors: expect.stringContaining("must be a key of 32 bytes") });
    expect(wrong.errors).not.toContain("hunter44");
    await writeFile(join(directory, "secret.key"), key);
    expect(await opened(null)).toEqual({ A: "hunter22", B: "hunter33" });
  });
});

describe.skipIf(await isWithoutPostgres())("secrets rotate-master on PostgreSQL", () => {
  it("needs no data directory and creates none", async () => {
    const server = await PostgresServer.start();
    try {
      const url = server.url(await server.createDatabase());
      const backend = { plugin: postgres, settings: new Hidden({ url }) };
      const elsewhere = { dataDirectory: join(directory, "data"), backend };
      const first = await run([], KEY, elsewhere);
      const next = `${/^ {2}(\S+)$/m.exec(first.output)?.[1] ?? ""},${KEY}`;
      expect(await run([], next, elsewhere)).toMatchObject({ code: 0, errors: "" });
      expect(await run([], null, elsewhere)).toMatchObject({
        code: 1,
        errors: expect.stringContaining("Set COLLOQUY_SECRET_KEY") as string,
      });
      expect(await readdir(directory)).toEqual([]);
    } finally {
      await server.stop();
    }
  });
});
