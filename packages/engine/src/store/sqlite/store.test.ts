import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { OpenedStore } from "@colloquy/testing/internal/store/fixtures/given-store";
import { describeStoreContract } from "@colloquy/testing/internal/store/store-contract.suite";
import { openSqliteStore } from "./open.ts";

function onFatal(error: Error): void {
  throw error;
}

async function openInMemory(clock: ManualClock): Promise<OpenedStore> {
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  return { store, reopen: null, dispose: async () => undefined };
}

async function openOnDisk(clock: ManualClock): Promise<OpenedStore> {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-store-"));
  const open = () => openSqliteStore({ directory: join(folder, "data"), clock, onFatal });
  const store = await open();
  const reopen = async () => {
    await store.close();
    return await open();
  };
  return { store, reopen, dispose: () => rm(folder, { recursive: true, force: true }) };
}

describeStoreContract("SQLite in memory", openInMemory);
describeStoreContract("SQLite on disk", openOnDisk);
