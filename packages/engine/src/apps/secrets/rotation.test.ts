import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { parseMasterKeys } from "../../core/secrets.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { SealedSecret, SecretStore } from "../../core/ports/driven/secret-store.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { createKeyFile, type KeyFile } from "./key-file.ts";
import { operatorKeys, keysInFile, newMasterKey, createMasterKey } from "./master-key.ts";
import { rotateOperatorKeys, rotateKeyInFile, type Rotation, type RotationOptions } from "./rotation.ts";
import { Vault } from "./vault.ts";

const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const CLIENTS = Array.from({ length: 5 }, (_, index) => `web-${index}`);

let directory = "";
let store: Store;
let file: KeyFile;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-rotation-"));
  file = createKeyFile(join(directory, "secret.key"));
  store = await openSqliteStore({ directory: null, clock: new ManualClock(), onFatal: () => {} });
});

afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const vaultInFile = (): Vault => new Vault({ store: store.secrets, ring: keysInFile(file), logger });

async function fill(vault: Vault): Promise<void> {
  for (const client of CLIENTS) await vault.set("defi", client, { A: `a of ${client}`, B: `b of ${client}` });
}

async function expectFilled(vault: Vault): Promise<void> {
  for (const client of CLIENTS) {
    const values = { A: `a of ${client}`, B: `b of ${client}` };
    expect(Object.fromEntries(await vault.open("defi", client))).toMatchObject(values);
  }
}

function rotate(options: Partial<RotationOptions> = {}, on = file): Promise<Rotation> {
  return rotateKeyInFile(on, { store: store.secrets, discardUnreadable: false, ...options });
}

async function keyIds(): Promise<readonly string[]> {
  return (await file.read()).map((key) => createMasterKey(key).id);
}

async function tamper(): Promise<SealedSecret> {
  const [a, b] = await store.secrets.of("defi", "web-1");
  if (a === undefined || b === undefined) throw new Error("nothing is sealed");
  await store.secrets.put([{ ...a, sealed: b.sealed }]);
  return a;
}

describe("rotating the key in a file", () => {
  it("reseals all secrets with a new key, and drops the old one", async () => {
    await fill(vaultInFile());
    const [old = ""] = await keyIds();
    const result = await rotate();
    const [next = "", ...others] = await keyIds();
    expect(others).toEqual([]);
    expect(next).not.toBe(old);
    expect(result).toEqual({
      outcome: "done",
      keyId: next,
      resealed: 10,
      discarded: 0,
      resumed: false,
      fromOperator: false,
    });
    expect(await store.secrets.countByKey()).toEqual({ [next]: 10 });
    await expectFilled(vaultInFile());
    expect(await readdir(directory)).toEqual(["secret.key"]);
  });

  it("reseals more secrets than one batch", async () => {
    const vault = vaultInFile();
    for (let index = 0; index < 250; index += 1) await vault.set("defi", `many-${index}`, { A: `${index}` });
    expect(await rotate()).toMatchObject({ outcome: "done", resealed: 250 });
    for (const index of [0, 99, 100, 249]) {
      expect(await vaultInFile().open("defi", `many-${index}`)).toEqual(new Map([["A", `${index}`]]));
    }
  });

  it("does nothing without a key", async () => {
    expect(await rotate()).toEqual({ outcome: "no_key" });
    expect(await file.read()).toEqual([]);
  });

  it("resumes after a crash at any step while servers keep working", async () => {
    let stoppedEverywhere = 0;
    for (let steps = 0; ; steps += 1) {
      await rm(file.path, { force: true });
      for (const client of [...CLIENTS, "new"]) await store.secrets.remove("defi", client, null);
      const running = vaultInFile();
      await fill(running);
      const crash = crashAfter(steps);
      const first = await rotate({ store: crash.store(store.secrets) }, crash.file(file)).catch(() => null);
      if (first !== null) break;
      stoppedEverywhere += 1;
      // One server that was already running, and one that starts now.
      await expectFilled(running);
      await expectFilled(vaultInFile());
      await running.set("defi", "new", { A: "set by the old one" });
      await vaultInFile().set("defi", "new", { B: "set by the new one" });

      expect(await rotate()).toMatchObject({ outcome: "done" });
      expect(await keyIds()).toHaveLength(1);
      expect(Object.keys(await store.secrets.countByKey())).toEqual(await keyIds());
      await expectFilled(running);
      await expectFilled(vaultInFile());
      expect(await vaultInFile().names("defi", "new")).toEqual(["A", "B"]);
    }
    // Before and after each store call and each change of the file.
    expect(stoppedEverywhere).toBeGreaterThan(20);
  });

  it("keeps the values that a running server sets at any step", async () => {
    const running = vaultInFile();
    await fill(running);
    let count = 0;
    const busy =
      <Parameters extends readonly unknown[], Answer>(
        method: (...parameters: Parameters) => Promise<Answer>,
      ) =>
      async (...parameters: Parameters): Promise<Answer> => {
        count += 1;
        const mine = count;
        await running.set("defi", `busy-${mine}`, { A: `${mine}` });
        if (mine === 5) await running.set("defi", "web-3", { A: "changed" });
        return await method(...parameters);
      };
    const { secrets } = store;
    const between: SecretStore = {
      ...secrets,
      keyInForce: busy(secrets.keyInForce),
      bringInForce: busy(secrets.bringInForce),
      sealedByOthers: busy(secrets.sealedByOthers),
      replace: busy(secrets.replace),
    };
    expect(await rotate({ store: between }, { ...file, replace: busy(file.replace) })).toMatchObject({
      outcome: "done",
    });
    expect(count).toBeGreaterThan(10);
    for (const vault of [running, vaultInFile()]) {
      for (let index = 1; index <= count; index += 1) {
        expect(await vault.open("defi", `busy-${index}`)).toEqual(new Map([["A", `${index}`]]));
      }
      expect((await vault.open("defi", "web-3")).get("A")).toBe("changed");
    }
    expect(Object.keys(await store.secrets.countByKey())).toEqual(await keyIds());
  });

  it("keeps the old key for secrets that it cannot open, and names them", async () => {
    await fill(vaultInFile());
    await tamper();
    const result = await rotate();
    const place = { app: "defi", clientId: "web-1", name: "A" };
    expect(result).toMatchObject({ outcome: "unreadable", resealed: 9, unreadable: [place] });
    expect(await keyIds()).toHaveLength(2);
    await vaultInFile().set("defi", "web-1", { A: "a of web-1" });
    expect(await rotate()).toMatchObject({ outcome: "done", resealed: 0, resumed: true });
    expect(await keyIds()).toHaveLength(1);
    await expectFilled(vaultInFile());
  });

  it("removes secrets that it cannot open, on request", async () => {
    await fill(vaultInFile());
    await tamper();
    expect(await rotate({ discardUnreadable: true })).toMatchObject({
      outcome: "done",
      resealed: 9,
      discarded: 1,
    });
    expect(await vaultInFile().names("defi", "web-1")).toEqual(["B"]);
    expect(await keyIds()).toHaveLength(1);
  });

  it("does nothing while the key of some secrets is missing, unless asked to discard them", async () => {
    await fill(vaultInFile());
    const lost = await readFile(file.path, "utf8");
    await rm(file.path);
    await expect(rotate()).rejects.toThrow(
      /^10 secrets were sealed by a master key that is not in the file /,
    );
    expect(await file.read()).toEqual([]);
    expect(await rotate({ discardUnreadable: true })).toMatchObject({ outcome: "done", discarded: 10 });
    await vaultInFile().set("defi", "web-1", { A: "new" });
    expect(await vaultInFile().names("defi", "web-1")).toEqual(["A"]);
    expect(await readFile(file.path, "utf8")).not.toBe(lost);
  });
});

describe("rotating given keys", () => {
  const [old, next] = [newMasterKey(), newMasterKey()];
  const vaultWith = (...keys: readonly Uint8Array[]): Vault =>
    new Vault({ store: store.secrets, ring: operatorKeys(keys, "the test"), logger });
  const rotateWith = (...keys: readonly Uint8Array[]): Promise<Rotation> =>
    rotateOperatorKeys(keys, { store: store.secrets, discardUnreadable: false });

  it("first returns the keys to provide, then seals with the newest one", async () => {
    await fill(vaultWith(old));
    const first = await rotateWith(old);
    if (first.outcome !== "key_needed") throw new Error(first.outcome);
    const parsed = parseMasterKeys(first.secretKey);
    expect(parsed).toEqual({ keys: [expect.any(Uint8Array), old] });
    expect(await store.secrets.countByKey()).toEqual({ [createMasterKey(old).id]: 10 });

    const given = "keys" in parsed ? parsed.keys : [];
    const id = createMasterKey(given[0] ?? old).id;
    const done = {
      outcome: "done",
      keyId: id,
      resealed: 10,
      discarded: 0,
      resumed: false,
      fromOperator: true,
    };
    expect(await rotateWith(...given)).toEqual(done);
    await expectFilled(vaultWith(...given));
    await expectFilled(vaultWith(...given.slice(0, 1)));
    expect(await rotateWith(...given)).toEqual({ ...done, resealed: 0, resumed: true });
  });

  it("uses the only given key if no other key has sealed a secret", async () => {
    await vaultWith(old).set("defi", "web-1", { A: "1" });
    await store.secrets.remove("defi", "web-1", null);
    expect(await rotateWith(next)).toMatchObject({ outcome: "done", resealed: 0 });
    expect(await rotateWith(next)).toMatchObject({ outcome: "key_needed" });
  });

  it("rejects a missing key of some secrets", async () => {
    await fill(vaultWith(old));
    await expect(rotateWith(next)).rejects.toThrow(/not in COLLOQUY_SECRET_KEY \(id [0-9a-f]{16}\)/);
    await expectFilled(vaultWith(old));
  });

  it("fails if another rotation has started", async () => {
    await fill(vaultWith(old));
    const [third] = [newMasterKey()];
    const { secrets } = store;
    const taken: SecretStore = {
      ...secrets,
      async sealedByOthers(keyId, after, limit) {
        const found = await secrets.sealedByOthers(keyId, after, limit);
        await secrets.bringInForce(createMasterKey(third).id, keyId);
        return found;
      },
    };
    const rotation = rotateOperatorKeys([next, old], { store: taken, discardUnreadable: false });
    await expect(rotation).rejects.toThrow("Another rotation with a different key has started");
    await expectFilled(vaultWith(third, next, old));
  });
});

/**
 * Fails every step after the given number, before or after its call, because a caller may not get to know
 * that a step was done.
 */
function crashAfter(steps: number): {
  store(store: SecretStore): SecretStore;
  file(file: KeyFile): KeyFile;
} {
  let left = steps;
  const take = (): void => {
    left -= 1;
    if (left < 0) throw new Error("killed");
  };
  const guard =
    <Parameters extends readonly unknown[], Answer>(method: (...parameters: Parameters) => Promise<Answer>) =>
    async (...parameters: Parameters): Promise<Answer> => {
      take();
      const answer = await method(...parameters);
      take();
      return answer;
    };
  return {
    store: (store) => ({
      ...store,
      bringInForce: guard(store.bringInForce),
      keyInForce: guard(store.keyInForce),
      sealedByOthers: guard(store.sealedByOthers),
      replace: guard(store.replace),
    }),
    file: (file) => ({ ...file, read: guard(file.read), replace: guard(file.replace) }),
  };
}
