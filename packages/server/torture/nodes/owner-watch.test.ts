import { createServer } from "node:http";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { Violations } from "../violations.ts";
import { checkOwners, LEASE_MS } from "./owner-watch.ts";

const servers: ReturnType<typeof createServer>[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A node whose metrics report this many running turns. */
async function nodeWith(running: number, cutOffForMs: number | null) {
  const server = createServer((_request, response) =>
    response.end(`# TYPE colloquy_turns_running gauge\ncolloquy_turns_running ${running}\n`),
  );
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server is not listening");
  const cutOffSince = cutOffForMs === null ? null : performance.now() - cutOffForMs;
  return { name: "node-1", ownPort: address.port, cutOffSince };
}

async function kindsOf(node: Awaited<ReturnType<typeof nodeWith>>): Promise<string[]> {
  const violations = new Violations();
  await checkOwners([node], violations);
  return violations.all.map(({ kind }) => kind);
}

describe("a node without the database", () => {
  it("must not run turns after its leases have expired", async () => {
    expect(await kindsOf(await nodeWith(2, LEASE_MS + 1))).toEqual(["ran on"]);
    expect(await kindsOf(await nodeWith(0, LEASE_MS + 1))).toEqual([]);
  });

  it("may run turns until then, and whenever it has the database", async () => {
    expect(await kindsOf(await nodeWith(2, LEASE_MS - 1_000))).toEqual([]);
    expect(await kindsOf(await nodeWith(2, null))).toEqual([]);
  });

  it("is not checked while it does not answer", async () => {
    const node = await nodeWith(2, LEASE_MS + 1);
    servers.splice(0)[0]?.close();
    expect(await kindsOf(node)).toEqual([]);
  });
});
