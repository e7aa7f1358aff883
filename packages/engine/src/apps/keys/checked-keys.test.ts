import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { Unavailable } from "../../core/errors.ts";
import type { AppKeyRecord } from "../../core/ports/driven/store.ts";
import { CheckedKeys, MAX_AGE_MS } from "./checked-keys.ts";
import { digestSecret, formatKey, type KeyParts, newKey } from "./key-text.ts";

/** Creates `CheckedKeys` on a store that records lookups, with the Apps `defi` and `games` configured. */
function givenKeys(maxCached = 100) {
  const clock = new ManualClock();
  const records = new Map<string, AppKeyRecord>();
  const asked: string[] = [];
  const state = { failure: null as Error | null, gate: Promise.resolve() };
  const find = async (id: string): Promise<AppKeyRecord | null> => {
    asked.push(id);
    const answer = records.get(id) ?? null;
    await state.gate;
    if (state.failure !== null) throw state.failure;
    return answer;
  };
  const configured = new Set(["default", "defi", "games"]);
  const apps = { get: (name: string) => (configured.has(name) ? ({ name } as never) : null) };
  const keys = new CheckedKeys({ store: { find }, clock, apps, maxCached });
  const add = (more: Partial<AppKeyRecord> = {}): KeyParts => {
    const parts = newKey();
    const digest = digestSecret(parts.secret).toString("hex");
    const base = {
      name: null,
      apps: ["defi"],
      scopes: ["read" as const],
      createdAt: 0,
      expiresAt: null,
      revokedAt: null,
    };
    records.set(parts.id, { ...base, id: parts.id, digest, ...more });
    return parts;
  };
  const revoke = ({ id }: KeyParts): void => {
    records.set(id, { ...records.get(id)!, revokedAt: clock.now() });
  };
  return { clock, keys, add, revoke, asked, records, configured, state };
}

/** Returns the answer of a check, the number of digests, and the sizes of constant-time comparisons. */
async function workOf<Answer>(check: () => Promise<Answer>) {
  const digests = vi.spyOn(crypto, "createHash");
  const compare = vi.spyOn(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  try {
    const answer = await check();
    const compared = compare.mock.calls.flat().map(({ byteLength }) => byteLength);
    return { answer, digests: digests.mock.calls.length, compared };
  } finally {
    digests.mockRestore();
    compare.mockRestore();
    syncBuiltinESMExports();
  }
}

describe("checking a key", () => {
  it("returns its id and Apps", async () => {
    const { keys, add } = givenKeys();
    const parts = add({ apps: ["defi", "games"] });
    expect(await keys.check(formatKey(parts))).toEqual({
      keyId: parts.id,
      name: null,
      apps: new Set(["defi", "games"]),
      scopes: new Set(["read"]),
      checkedAt: 0,
    });
  });

  it("rejects a secret that does not belong to the id", async () => {
    const { keys, add, records } = givenKeys();
    const [mine, other] = [add(), add()];
    records.set(mine.id, { ...records.get(mine.id)!, digest: records.get(other.id)!.digest });
    expect(await keys.check(formatKey(mine))).toBeNull();
    expect(await keys.check(formatKey(other))).not.toBeNull();
  });

  it("rejects an unknown id, and a mistyped key without a store lookup", async () => {
    const { keys, asked } = givenKeys();
    const text = formatKey(newKey());
    expect(await keys.check(text)).toBeNull();
    expect(asked).toHaveLength(1);
    const wrong = text.slice(0, -1) + (text.endsWith("a") ? "b" : "a");
    for (const malformed of ["", "nonsense", wrong]) expect(await keys.check(malformed)).toBeNull();
    expect(asked).toHaveLength(1);
  });

  it("does the same work for an unknown id and for a wrong secret", async () => {
    const { keys, add, records } = givenKeys();
    const known = add();
    const ofAnother = digestSecret(newKey().secret).toString("hex");
    records.set(known.id, { ...records.get(known.id)!, digest: ofAnother });
    const refused = { answer: null, digests: 1, compared: [32, 32] };
    for (const parts of [known, newKey()]) {
      expect(await workOf(() => keys.check(formatKey(parts)))).toEqual(refused);
    }
  });

  it("rejects a key that has expired, without another store lookup", async () => {
    const { keys, add, clock, asked } = givenKeys();
    const text = formatKey(add({ expiresAt: clock.now() + 1000 }));
    await clock.advance(999);
    expect(await keys.check(text)).not.toBeNull();
    await clock.advance(1);
    expect(await keys.check(text)).toBeNull();
    expect(asked).toHaveLength(1);
  });

  it("rejects a revoked key after two seconds at the latest", async () => {
    const { keys, add, revoke, clock } = givenKeys();
    const parts = add();
    expect(await keys.check(formatKey(parts))).not.toBeNull();
    revoke(parts);
    await clock.advance(MAX_AGE_MS - 1);
    await keys.check(formatKey(parts));
    await clock.advance(1);
    expect(await keys.check(formatKey(parts))).toBeNull();
  });

  it("grants access to configured Apps only, and never to the default one", async () => {
    const { keys, add, configured } = givenKeys();
    const text = formatKey(add({ apps: ["default", "defi", "games", "gone"] }));
    expect((await keys.check(text))?.apps).toEqual(new Set(["defi", "games"]));
    configured.delete("games");
    expect((await keys.check(text))?.apps).toEqual(new Set(["defi"]));
  });
});

describe("the cache of store lookups", () => {
  it("serves concurrent and later checks for two seconds", async () => {
    const { keys, add, asked, clock } = givenKeys();
    const text = formatKey(add());
    await Promise.all(Array.from({ length: 10 }, () => keys.check(text)));
    await clock.advance(MAX_AGE_MS - 1);
    expect(await keys.check(text)).toMatchObject({ checkedAt: 0 });
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(await keys.check(text)).toMatchObject({ checkedAt: MAX_AGE_MS });
    expect(asked).toHaveLength(2);
  });

  it("does not share a lookup that is older than two seconds", async () => {
    const { keys, add, asked, clock, state, revoke } = givenKeys();
    const { promise: gate, resolve } = Promise.withResolvers<void>();
    state.gate = gate;
    const parts = add();
    const early = keys.check(formatKey(parts));
    await clock.advance(MAX_AGE_MS);
    revoke(parts);
    const late = keys.check(formatKey(parts));
    expect(asked).toHaveLength(2);
    resolve();
    expect(await early).not.toBeNull();
    expect(await late).toBeNull();
  });

  it("includes unknown ids, and evicts the oldest entries", async () => {
    const { keys, asked } = givenKeys(3);
    const guesses = Array.from({ length: 5 }, () => formatKey(newKey()));
    for (const guess of guesses) await keys.check(guess);
    expect(asked).toHaveLength(5);
    for (const guess of guesses.slice(-3)) await keys.check(guess);
    expect(asked).toHaveLength(5);
    await keys.check(guesses[0]!);
    expect(asked).toHaveLength(6);
  });

  it("does not cache failed lookups", async () => {
    const { keys, add, state } = givenKeys();
    const text = formatKey(add());
    state.failure = new Unavailable(503, "store_unavailable", "Not now.", 1);
    await expect(keys.check(text)).rejects.toBe(state.failure);
    state.failure = null;
    expect(await keys.check(text)).not.toBeNull();
  });
});
