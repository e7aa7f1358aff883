// A key revoked on one node stops working on another within five seconds, and its streams end there (contract
// section 4).

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bindTo } from "@colloquy/testing/internal/store/fixtures/scenario";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { IssuedKey } from "@colloquy/engine/internal/core/ports/driving/credentials";
import { AppRules } from "../src/http/access/app-rules.ts";
import { Caller } from "../src/http/access/caller.ts";
import { type Nodes, startNodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { useOwnPostgres } from "./use-postgres.ts";
import { newId, RecordingSink, type TestService, until } from "./service.ts";

const WITHIN_MS = 5_000;

describe.skipIf(await isWithoutPostgres())("a key on two nodes", () => {
  const server = useOwnPostgres();
  let cluster: Nodes;
  let here: TestService;
  let there: TestService;
  let administration: KeyAdministration;
  let key: IssuedKey;
  /** True if the second node cannot read keys. */
  let isAway: boolean;

  beforeEach(async () => {
    isAway = false;
    cluster = await startNodes(server, {
      count: 2,
      beforeCall: (method) => {
        if (isAway && method === "keys.find") throw new Unavailable(503, "store_unavailable", "Not now.", 1);
        return undefined;
      },
      adjust: (config) => ({ ...config, apps: { ...config.apps, defi: config.apps["default"]! } }),
    });
    [here, there] = cluster.nodes as [TestService, TestService];
    const { store, clock, apps } = here;
    administration = new KeyAdministration({ store: store.keys, clock, apps: () => apps.names() });
    key = await administration.create({ apps: ["defi"], name: null, scopes: [], expiresInMs: null });
  });
  afterEach(() => cluster.close());

  async function sessionOfApp(): Promise<string> {
    const id = newId();
    await bindTo(there.store, id, "defi");
    return id;
  }

  /** Opens a stream of the session on the second node. */
  async function open(id: string, { key: text }: IssuedKey): Promise<RecordingSink> {
    const sink = new RecordingSink();
    const { apps, keys, users, conversations } = there;
    const caller = new Caller(
      { keys, users, conversations, rules: new AppRules(apps) },
      { session: "header", app: "session", scope: "read", streams: true },
      { key: text, token: null, owner: null },
    );
    const access = caller.streamAccess();
    await access.refresh?.();
    await there.feed.open({ sessionId: id, access, include: new Set(), lastEventId: null }, sink, null);
    return sink;
  }

  it("works on both nodes at once, and on neither from five seconds after its revocation", async () => {
    for (const node of [here, there]) expect(await node.keys.check(key.key)).toMatchObject({ keyId: key.id });
    // Use the key at the last moment before the revocation, so that its cached validity lasts as long as
    // possible.
    await administration.revoke(key.id);
    await cluster.clock.advance(WITHIN_MS);
    for (const node of [here, there]) expect(await node.keys.check(key.key)).toBeNull();
  });

  it("works on no node while its validity is unknown", async () => {
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

  it("ends its streams on the other node within five seconds after its revocation, and no others", async () => {
    const id = await sessionOfApp();
    const other = await administration.create({ apps: ["defi"], name: null, scopes: [], expiresInMs: null });
    const [revoked, good] = [await open(id, key), await open(id, other)];
    await administration.revoke(key.id);
    let passed = 0;
    await until(async () => {
      if (revoked.ended === null && passed < WITHIN_MS) {
        await cluster.pass(1_000);
        passed += 1_000;
        // Wait for lookups in progress.
        for (const one of [key, other]) await there.keys.check(one.key);
      }
      return revoked.ended !== null;
    });
    expect(good.ended).toBeNull();
  });

  it("ends its streams for a reconnect on a node that receives events but could not check it for five seconds", async () => {
    const id = await sessionOfApp();
    const asked = cluster.clock.monotonic();
    const stream = await open(id, key);
    isAway = true;
    await administration.revoke(key.id);
    await here.threads.rename(id, "heard", null);
    await until(() => stream.text.includes("heard"));
    await cluster.pass(asked + WITHIN_MS - 1 - cluster.clock.monotonic());
    expect(stream.ended).toBeNull();
    await cluster.pass(1);
    expect(stream.ended).toBe("finish");
    expect(stream.text).not.toContain("app_key_invalid");
  });
});
