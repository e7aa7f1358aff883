import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { Unavailable } from "../../core/errors.ts";
import type { AppKeyRecord } from "../../core/ports/key-store.ts";
import { CheckedKeys, REMEMBERED_MS } from "./checked-keys.ts";
import { digestSecret, formatKey, newKey, type KeyParts } from "./key-text.ts";

/** Checks over a store that counts what it is asked, with the Apps `defi` and `games` configured. */
function givenKeys(remembered = 100) {
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
  const keys = new CheckedKeys({ store: { find }, clock, apps, remembered });
  const add = (more: Partial<AppKeyRecord> = {}): KeyParts => {
    const parts = newKey();
    const digest = digestSecret(parts.secret).toString("hex");
    const base = { name: null, apps: ["defi"], createdAt: 0, expiresAt: null, revokedAt: null };
    records.set(parts.id, { ...base, id: parts.id, digest, ...more });
    return parts;
  };
  const revoke = ({ id }: KeyParts): void => {
    records.set(id, { ...records.get(id)!, revokedAt: clock.now() });
  };
  return { clock, keys, add, revoke, asked, records, configured, state };
}

describe("a key", () => {
  it("opens what it was made for", async () => {
    const { keys, add } = givenKeys();
    const parts = add({ apps: ["defi", "games"] });
    expect(await keys.check(formatKey(parts))).toEqual({
      keyId: parts.id,
      apps: new Set(["defi", "games"]),
      askedAt: 0,
    });
  });

  it("is not good when its secret is not the one that belongs to its id", async () => {
    const { keys, add, records } = givenKeys();
    const [mine, other] = [add(), add()];
    records.set(mine.id, { ...records.get(mine.id)!, digest: records.get(other.id)!.digest });
    expect(await keys.check(formatKey(mine))).toBeNull();
    expect(await keys.check(formatKey(other))).not.toBeNull();
  });

  it("is not good when nobody has it, and costs no look into the store when it was typed wrong", async () => {
    const { keys, asked } = givenKeys();
    const text = formatKey(newKey());
    expect(await keys.check(text)).toBeNull();
    expect(asked).toHaveLength(1);
    const wrong = text.slice(0, -1) + (text.endsWith("a") ? "b" : "a");
    for (const malformed of ["", "nonsense", wrong]) expect(await keys.check(malformed)).toBeNull();
    expect(asked).toHaveLength(1);
  });

  it("ends at its time, without another look into the store", async () => {
    const { keys, add, clock, asked } = givenKeys();
    const text = formatKey(add({ expiresAt: clock.now() + 1000 }));
    await clock.advance(999);
    expect(await keys.check(text)).not.toBeNull();
    await clock.advance(1);
    expect(await keys.check(text)).toBeNull();
    expect(asked).toHaveLength(1);
  });

  it("that is revoked by whoever opens nothing two seconds later", async () => {
    const { keys, add, revoke, clock } = givenKeys();
    const parts = add();
    expect(await keys.check(formatKey(parts))).not.toBeNull();
    revoke(parts);
    await clock.advance(REMEMBERED_MS - 1);
    await keys.check(formatKey(parts));
    await clock.advance(1);
    expect(await keys.check(formatKey(parts))).toBeNull();
  });

  it("opens no App that is not configured, as soon as it is not, and the default one is none", async () => {
    const { keys, add, configured } = givenKeys();
    const text = formatKey(add({ apps: ["default", "defi", "games", "gone"] }));
    expect((await keys.check(text))?.apps).toEqual(new Set(["defi", "games"]));
    configured.delete("games");
    expect((await keys.check(text))?.apps).toEqual(new Set(["defi"]));
  });
});

describe("the store", () => {
  it("is asked once in two seconds, however many check at the same time", async () => {
    const { keys, add, asked, clock } = givenKeys();
    const text = formatKey(add());
    await Promise.all(Array.from({ length: 10 }, () => keys.check(text)));
    await clock.advance(REMEMBERED_MS - 1);
    expect(await keys.check(text)).toMatchObject({ askedAt: 0 });
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(await keys.check(text)).toMatchObject({ askedAt: REMEMBERED_MS });
    expect(asked).toHaveLength(2);
  });

  it("is asked anew when it takes longer than that to answer", async () => {
    const { keys, add, asked, clock, state, revoke } = givenKeys();
    const { promise: gate, resolve } = Promise.withResolvers<void>();
    state.gate = gate;
    const parts = add();
    const early = keys.check(formatKey(parts));
    await clock.advance(REMEMBERED_MS);
    revoke(parts);
    const late = keys.check(formatKey(parts));
    expect(asked).toHaveLength(2);
    resolve();
    expect(await early).not.toBeNull();
    expect(await late).toBeNull();
  });

  it("is asked once for an unknown id too, and what was guessed is forgotten when there is too much of it", async () => {
    const { keys, asked } = givenKeys(3);
    const guesses = Array.from({ length: 5 }, () => formatKey(newKey()));
    for (const guess of guesses) await keys.check(guess);
    expect(asked).toHaveLength(5);
    for (const guess of guesses.slice(-3)) await keys.check(guess);
    expect(asked).toHaveLength(5);
    await keys.check(guesses[0]!);
    expect(asked).toHaveLength(6);
  });

  it("that fails is a failure of the check, and is asked again", async () => {
    const { keys, add, state } = givenKeys();
    const text = formatKey(add());
    state.failure = new Unavailable(503, "store_unavailable", "Not now.", 1);
    await expect(keys.check(text)).rejects.toBe(state.failure);
    state.failure = null;
    expect(await keys.check(text)).not.toBeNull();
  });
});
