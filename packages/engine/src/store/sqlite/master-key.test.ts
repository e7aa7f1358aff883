// Rotations of the master key by a command beside a server (ADR 12).

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { openSqliteStore } from "./open.ts";

it("refuses writes under the old key after a rotation by another process, which sees all before", async () => {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-master-key-"));
  const onFatal = (error: Error): never => {
    throw error;
  };
  const options = { directory, clock: new ManualClock(), onFatal };
  const server = await openSqliteStore(options);
  const command = await openSqliteStore({ ...options, role: "administration" });
  const write = (name: string) =>
    server.secrets.put([{ app: "defi", clientId: "web", name, keyId: "k1", sealed: "" }]);
  const writeUntilRefused = async () => {
    let count = 1;
    while ((await write(`S${count}`)) === "k1") count += 1;
    return count;
  };
  try {
    await server.secrets.bringInForce("k1", null);
    expect(await write("S0")).toBe("k1");
    const writing = writeUntilRefused();
    expect(await command.secrets.bringInForce("k2", "k1")).toBe("k2");
    const seen = await command.secrets.countByKey();
    const count = await writing;
    expect(await server.secrets.countByKey()).toEqual(seen);
    expect(seen).toEqual({ k1: count });
  } finally {
    await command.close();
    await server.close();
    await rm(directory, { recursive: true });
  }
});
