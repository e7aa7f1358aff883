import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { formatMasterKey } from "../../core/secrets.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { SecretStore } from "../../core/ports/driven/secret-store.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { createKeyFile } from "./key-file.ts";
import { operatorKeys, keysInFile, newMasterKey, type KeyRing, createMasterKey } from "./master-key.ts";
import { Vault } from "./vault.ts";

const lines: { level: string; fields: object; message: string }[] = [];
const note = (level: string) => (fields: object, message: string) => lines.push({ level, fields, message });
const logger: Logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };

let directory = "";
let store: Store;
const path = (): string => join(directory, "secret.key");

beforeEach(async () => {
  lines.length = 0;
  directory = await mkdtemp(join(tmpdir(), "colloquy-vault-"));
  store = await openSqliteStore({ directory: null, clock: new ManualClock(), onFatal: () => {} });
});

afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

function vaultOn(ring: KeyRing | null, secrets: SecretStore = store.secrets): Vault {
  return new Vault({ store: secrets, ring, logger });
}

const inFile = (): KeyRing => keysInFile(createKeyFile(path()));
const unavailable = { status: 503, code: "secrets_unavailable" };

describe("the vault", () => {
  it("returns secrets only to the client and App that they were set for", async () => {
    const vault = vaultOn(inFile());
    await vault.set("defi", "web-1", { B: "value b", A: "value a" });
    await vault.set("defi", "web-2", { A: "other" });
    await vault.set("games", "web-1", { A: "game" });
    expect(await vault.open("defi", "web-1")).toEqual(
      new Map([
        ["A", "value a"],
        ["B", "value b"],
      ]),
    );
    expect(await vault.names("defi", "web-1")).toEqual(["A", "B"]);
    expect(await vault.open("defi", "web-2")).toEqual(new Map([["A", "other"]]));
    expect(await vault.open("games", "web-1")).toEqual(new Map([["A", "game"]]));
    expect(await vault.names("games", "web-2")).toEqual([]);
  });

  it("replaces and removes secrets", async () => {
    const vault = vaultOn(inFile());
    await vault.set("defi", "web-1", { A: "1", B: "2", C: "3" });
    await vault.set("defi", "web-1", { A: "4" });
    expect((await vault.open("defi", "web-1")).get("A")).toBe("4");
    expect(await vault.remove("defi", "web-1", "B")).toBe(1);
    expect(await vault.names("defi", "web-1")).toEqual(["A", "C"]);
    expect(await vault.remove("defi", "web-1", null)).toBe(2);
    expect(await vault.names("defi", "web-1")).toEqual([]);
  });

  it("creates its key with the first secret", async () => {
    const vault = vaultOn(inFile());
    await vault.check();
    expect(await vault.names("defi", "web-1")).toEqual([]);
    expect(await vault.remove("defi", "web-1", null)).toBe(0);
    await expect(readFile(path())).rejects.toThrow("ENOENT");
    await vault.set("defi", "web-1", { A: "1" });
    const key = await readFile(path(), "utf8");
    await vaultOn(inFile()).set("defi", "web-1", { B: "2" });
    expect(await readFile(path(), "utf8")).toBe(key);
    expect(await vaultOn(inFile()).names("defi", "web-1")).toEqual(["A", "B"]);
    expect(lines).toEqual([]);
  });

  it("creates one key for concurrent first secrets", async () => {
    const vaults = Array.from({ length: 6 }, () => vaultOn(inFile()));
    await Promise.all(vaults.map((vault, index) => vault.set("defi", `web-${index}`, { A: `${index}` })));
    for (const [index] of vaults.entries()) {
      expect(await vaultOn(inFile()).open("defi", `web-${index}`)).toEqual(new Map([["A", `${index}`]]));
    }
  });

  it("responds with 503 to everything without a key, and logs a warning at startup", async () => {
    const vault = vaultOn(null);
    expect(vault.isOpen).toBe(false);
    await expect(vault.names("defi", "web-1")).rejects.toMatchObject(unavailable);
    await expect(vault.open("defi", "web-1")).rejects.toMatchObject(unavailable);
    await expect(vault.set("defi", "web-1", { A: "1" })).rejects.toMatchObject(unavailable);
    await expect(vault.remove("defi", "web-1", null)).rejects.toMatchObject(unavailable);
    await vault.check();
    expect(lines).toMatchObject([{ level: "warn", message: expect.stringContaining("COLLOQUY_SECRET_KEY") }]);
  });

  it("treats a modified or moved value as not set, and logs it without the value", async () => {
    const vault = vaultOn(inFile());
    await vault.set("defi", "web-1", { A: "hunter-a", B: "hunter-b", C: "hunter-c" });
    await vault.set("defi", "web-2", { A: "hunter-2" });
    const [a, b] = await store.secrets.of("defi", "web-1");
    const [of2] = await store.secrets.of("defi", "web-2");
    if (a === undefined || b === undefined || of2 === undefined) throw new Error("nothing is sealed");
    await store.secrets.put([
      { ...a, sealed: of2.sealed },
      { ...b, sealed: a.sealed },
    ]);
    expect(await vault.open("defi", "web-1")).toEqual(new Map([["C", "hunter-c"]]));
    expect(await vault.names("defi", "web-1")).toEqual(["C"]);
    expect(lines).toMatchObject([
      { level: "error", fields: { app: "defi", slot: "A" } },
      { level: "error", fields: { app: "defi", slot: "B" } },
      {},
      {},
    ]);
    expect(JSON.stringify(lines)).not.toContain("hunter");
    await vault.set("defi", "web-1", { A: "mended" });
    expect((await vault.open("defi", "web-1")).get("A")).toBe("mended");
  });
});

describe("a vault with a missing key", () => {
  it("responds with 503, and creates no new key while secrets are sealed by the old one", async () => {
    await vaultOn(inFile()).set("defi", "web-1", { A: "hunter22" });
    const [id = ""] = Object.keys(await store.secrets.countByKey());
    await rm(path());
    const vault = vaultOn(inFile());
    await vault.check();
    expect(lines).toMatchObject([{ level: "error", fields: { masterKey: id, secrets: 1 } }]);
    await expect(vault.open("defi", "web-1")).rejects.toMatchObject(unavailable);
    await expect(vault.names("defi", "web-1")).rejects.toMatchObject(unavailable);
    for (const client of ["web-1", "web-2"]) {
      await expect(vault.set("defi", client, { A: "new" })).rejects.toMatchObject(unavailable);
    }
    await expect(readFile(path())).rejects.toThrow("ENOENT");
    // Clients without sealed secrets are unaffected. Removing the unreadable secrets allows a new key.
    expect(await vault.names("defi", "web-2")).toEqual([]);
    expect(await vault.remove("defi", "web-1", null)).toBe(1);
    await vault.set("defi", "web-2", { A: "new" });
    expect(await vault.open("defi", "web-2")).toEqual(new Map([["A", "new"]]));
  });

  it("recovers without a restart when the key is put back", async () => {
    await vaultOn(inFile()).set("defi", "web-1", { A: "hunter22" });
    const key = await readFile(path(), "utf8");
    await rm(path());
    const vault = vaultOn(inFile());
    await expect(vault.open("defi", "web-1")).rejects.toMatchObject(unavailable);
    await writeFile(path(), key);
    expect(await vault.open("defi", "web-1")).toEqual(new Map([["A", "hunter22"]]));
  });

  it("does not seal with another key while secrets are sealed by the old one", async () => {
    const [old, other] = [newMasterKey(), newMasterKey()];
    await vaultOn(operatorKeys([old], "the test")).set("defi", "web-1", { A: "1" });
    const vault = vaultOn(operatorKeys([other], "the test"));
    await expect(vault.set("defi", "web-2", { A: "2" })).rejects.toMatchObject(unavailable);
    await store.secrets.remove("defi", "web-1", null);
    await vault.set("defi", "web-2", { A: "2" });
    expect(await vault.names("defi", "web-2")).toEqual(["A"]);
  });

  it.each(["nonsense", ""])(
    "responds with 503 if the file contains %j, and logs the reason",
    async (content) => {
      await writeFile(path(), content);
      const vault = vaultOn(inFile());
      await vault.check();
      expect(lines).toMatchObject([{ level: "error", fields: { err: expect.any(Error) as Error } }]);
      const failure = vault.set("defi", "web-1", { A: "1" });
      await expect(failure).rejects.toMatchObject({ ...unavailable, cause: expect.any(Error) as Error });
      await expect(failure).rejects.not.toMatchObject({
        detail: expect.stringContaining(directory) as string,
      });
    },
  );

  it("logs a warning at startup if other users may read the key", async () => {
    await writeFile(path(), formatMasterKey(newMasterKey()), { mode: 0o644 });
    await vaultOn(inFile()).check();
    expect(lines).toMatchObject([{ level: "warn", message: expect.stringContaining("chmod 600") as string }]);
  });
});

describe("a vault during a key rotation", () => {
  const [old, next] = [newMasterKey(), newMasterKey()];
  const [oldId, nextId] = [createMasterKey(old).id, createMasterKey(next).id];

  it("seals with the active key, even if it has a newer one", async () => {
    await vaultOn(operatorKeys([old], "the test")).set("defi", "web-1", { A: "1" });
    const vault = vaultOn(operatorKeys([next, old], "the test"));
    await vault.set("defi", "web-1", { B: "2" });
    expect(await store.secrets.countByKey()).toEqual({ [oldId]: 2 });
    await store.secrets.bringInForce(nextId, oldId);
    await vault.set("defi", "web-1", { C: "3" });
    expect(await store.secrets.countByKey()).toEqual({ [oldId]: 2, [nextId]: 1 });
    expect(await vault.names("defi", "web-1")).toEqual(["A", "B", "C"]);
    await vault.check();
    expect(lines).toMatchObject([{ level: "warn", fields: { masterKey: oldId, secrets: 2 } }]);
  });

  it("reads its file again for an unknown key", async () => {
    const file = createKeyFile(path());
    await file.create(old);
    const vault = vaultOn(inFile());
    await vault.set("defi", "web-1", { A: "1" });
    await file.replace([next, old]);
    await store.secrets.bringInForce(nextId, oldId);
    await vault.set("defi", "web-1", { B: "2" });
    expect(await store.secrets.countByKey()).toEqual({ [oldId]: 1, [nextId]: 1 });
    const other = vaultOn(inFile());
    expect(await other.names("defi", "web-1")).toEqual(["A", "B"]);
  });

  it("opens secrets that are resealed between its reads of the store and of the file", async () => {
    const file = createKeyFile(path());
    await file.create(old);
    await vaultOn(inFile()).set("defi", "web-1", { A: "1" });
    const [before] = await store.secrets.of("defi", "web-1");
    if (before === undefined) throw new Error("nothing is sealed");
    let rotated = false;
    const rotating: SecretStore = {
      ...store.secrets,
      async of(app, clientId) {
        const found = await store.secrets.of(app, clientId);
        if (rotated) return found;
        rotated = true;
        await store.secrets.bringInForce(nextId, oldId);
        const sealed = createMasterKey(next).seal(before, "1");
        await store.secrets.replace(before, { ...before, keyId: nextId, sealed });
        await file.replace([next]);
        return found;
      },
    };
    expect(await vaultOn(inFile(), rotating).open("defi", "web-1")).toEqual(new Map([["A", "1"]]));
  });

  it("leaves no secret under the old key if another key is activated while it seals", async () => {
    await vaultOn(operatorKeys([old], "the test")).set("defi", "web-1", { A: "1" });
    let asked = 0;
    const rotating: SecretStore = {
      ...store.secrets,
      async keyInForce() {
        const inForce = await store.secrets.keyInForce();
        asked += 1;
        if (asked === 1) await store.secrets.bringInForce(nextId, oldId);
        return inForce;
      },
    };
    await vaultOn(operatorKeys([next, old], "the test"), rotating).set("defi", "web-1", { B: "2" });
    expect(await store.secrets.countByKey()).toEqual({ [oldId]: 1, [nextId]: 1 });
  });
});
