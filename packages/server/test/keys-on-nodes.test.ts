// A key that is revoked on one node opens nothing on another one within five seconds, and its streams end there (contract section 4; the
// issue "Many machines").

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KeyAdministration, type IssuedKey } from "../src/apps/keys/key-administration.ts";
import { KeyedStream } from "../src/http/keyed-stream.ts";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres, PostgresServer } from "./postgres-server.ts";
import { newId, RecordingSink, until, type TestService } from "./service.ts";

const WITHIN_MS = 5_000;

describe.skipIf(await isWithoutPostgres())("a key on two nodes", () => {
  let server: PostgresServer;
  let cluster: Nodes;
  let here: TestService;
  let there: TestService;
  let administration: KeyAdministration;
  let key: IssuedKey;

  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    cluster = await startNodes(server, {
      count: 2,
      adjust: (config) => ({ ...config, apps: { ...config.apps, defi: config.apps["default"]! } }),
    });
    [here, there] = cluster.nodes as [TestService, TestService];
    const { store, clock, apps } = here;
    administration = new KeyAdministration({ store: store.keys, clock, apps: apps.names() });
    key = await administration.create({ apps: ["defi"], name: null, expiresInMs: null });
  });
  afterEach(() => cluster.close());

  it("is good on both at once, and on neither within five seconds after it was revoked on one", async () => {
    for (const node of [here, there]) expect(await node.keys.check(key.key)).toMatchObject({ keyId: key.id });
    // Asked at the last moment before, so that the answer is remembered as long as it ever is.
    await administration.revoke(key.id);
    await cluster.clock.advance(WITHIN_MS);
    for (const node of [here, there]) expect(await node.keys.check(key.key)).toBeNull();
  });

  it("is good nowhere while nobody knows whether it is", async () => {
    expect(await there.keys.check(key.key)).not.toBeNull();
    await server.halt();
    try {
      await cluster.clock.advance(WITHIN_MS);
      await expect(there.keys.check(key.key)).rejects.toMatchObject({ status: 503 });
    } finally {
      await server.resume();
    }
    expect(await there.keys.check(key.key)).toMatchObject({ keyId: key.id });
  });

  it("ends its streams on the other node, and no others, within five seconds after it was revoked", async () => {
    const id = newId();
    const { outcome } = await there.store.sessions
      .setModel(
        { id, birth: { life: "life", model: "demo/assistant" }, load: false },
        { app: "defi", rig: "demo/assistant", utilityModel: null },
      )
      .then((committed) => committed!);
    expect(outcome).toBe("ok");
    const other = await administration.create({ apps: ["defi"], name: null, expiresInMs: null });
    const open = async ({ key }: IssuedKey) => {
      const sink = new RecordingSink();
      const access = new KeyedStream(there.keys, key, await there.keys.check(key));
      await there.feed.open({ sessionId: id, access, include: new Set(), lastEventId: null }, sink, null);
      return sink;
    };
    const [revoked, good] = [await open(key), await open(other)];
    await administration.revoke(key.id);
    let passed = 0;
    await until(async () => {
      if (revoked.ended === null && passed < WITHIN_MS) await cluster.pass(1_000);
      passed += 1_000;
      return revoked.ended !== null;
    });
    expect(passed).toBeLessThanOrEqual(WITHIN_MS);
    expect(good.ended).toBeNull();
  });
});
