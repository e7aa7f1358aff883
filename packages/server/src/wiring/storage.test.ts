import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import { newId, until } from "../../test/service.ts";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { loadConfig } from "../config/load-config.ts";
import { isLimited } from "./server.ts";
import { openStorage, readHandles, type Storage } from "@colloquy/engine/internal/wiring/storage";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

const isWithout = await isWithoutPostgres();
let directory: string;
const opened: Storage[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-storage-"));
});
afterEach(async () => {
  for (const { store, bus, rateCounters } of opened.splice(0)) {
    await bus?.close();
    await rateCounters?.close();
    await store.close();
  }
  await rm(directory, { recursive: true });
});

async function open(environment: Record<string, string>): Promise<Storage> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", COLLOQUY_DATA_DIR: directory, ...environment },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const onFatal = (error: Error): never => {
    throw error;
  };
  const clock = "COLLOQUY_DATABASE_URL" in environment ? createSystemClock() : new ManualClock();
  const shared = {
    clock,
    logger: SILENT,
    onFatal,
    processId: null,
    directory: loaded.config.server.dataDirectory,
    isLimited: isLimited(loaded.config),
    onNotificationsLost: () => undefined,
    onServerChange: () => undefined,
  };
  const storage = await openStorage(loaded.config, shared);
  opened.push(storage);
  return storage;
}

describe("storage", () => {
  it("of a node without a database is exclusive", async () => {
    const { isAlone, rateCounters, store } = await open({});
    expect([isAlone, rateCounters]).toEqual([true, null]);
    expect(await store.sessions.find(newId())).toBeNull();
    await expect(open({})).rejects.toThrow(/another|already|in use/i);
  });

  it("gives the same handles to all its readers, and another store others", async () => {
    const id = newId();
    const handleIn = async ({ store }: Storage) => (await readHandles(store)).of(id);
    const one = await open({});
    expect(await handleIn(one)).toBe(await handleIn(one));
    const other = await open({ COLLOQUY_DATA_DIR: join(directory, "other") });
    expect(await handleIn(other)).not.toBe(await handleIn(one));
  });

  describe.skipIf(isWithout)("of nodes with a database", () => {
    const server = usePostgres();

    it("is shared, with notifications, and with rate counters beyond loopback or behind a proxy", async () => {
      const environment = { COLLOQUY_DATABASE_URL: server.url(await server.createDatabase()) };
      const [one, other] = [
        await open(environment),
        await open({ ...environment, HOST: "0.0.0.0", COLLOQUY_ALLOWED_HOSTS: "a.test" }),
      ];
      expect([one.isAlone, one.rateCounters, other.isAlone]).toEqual([false, null, false]);
      expect(other.rateCounters).not.toBeNull();
      const behind = await open({ ...environment, COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" });
      expect(behind.rateCounters).not.toBeNull();
      const withAdmin = await open({ ...environment, COLLOQUY_ADMIN_KEY: "an-admin-key_of/24+characters" });
      expect(withAdmin.rateCounters).not.toBeNull();
      const file = join(directory, "config.json");
      const backend = { kind: "postgresql", url: environment.COLLOQUY_DATABASE_URL, sharedLimits: false };
      await writeFile(file, JSON.stringify({ backend }));
      const ownCounts = await open({
        HOST: "0.0.0.0",
        COLLOQUY_ALLOWED_HOSTS: "a.test",
        COLLOQUY_CONFIG: file,
      });
      expect([ownCounts.isAlone, ownCounts.rateCounters]).toEqual([false, null]);
      const id = newId();
      await one.store.execute({
        kind: "open",
        target: { session: id, birth: { incarnation: "a", model: "m/m" }, load: false, access: null },
        input: NOTHING,
      });
      expect((await other.store.sessions.find(id))?.incarnation).toBe("a");
      const received: string[] = [];
      other.bus!.listen({
        onNotification: (sessionId, { kind }) => received.push(`${sessionId} ${kind}`),
        onWork: () => undefined,
        onResumed: () => undefined,
      });
      await other.bus!.follow(id).ready;
      one.bus!.publish(id, { kind: "deleted", incarnation: "a" });
      await until(() => received.length > 0);
      expect(received).toEqual([`${id} deleted`]);
    });
  });
});

const NOTHING = { userState: null, publicKey: null };
