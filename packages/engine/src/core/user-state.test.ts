import { UserState } from "@colloquy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "./json.ts";
import {
  mergeUserState,
  USER_STATE_MAX_BYTES,
  userStateFits,
  withoutWrongTypes,
  parsePublicKey,
} from "./user-state.ts";

const nested = (depth: number): JsonObject => (depth === 1 ? {} : { a: nested(depth - 1) });
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>(null, true, 0, 1, "x", "__proto__"),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__", "constructor"), tie("value"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));
const state = fc.dictionary(fc.constantFrom("a", "b", "__proto__"), value, { noNullPrototype: true });

describe("merging user state", () => {
  it("merges objects deeply, and replaces every other value, including null and arrays", () => {
    const base = { evm: { address: "0x1", chain_id: 1 }, tags: [1, 2], connection: { is_connected: true } };
    const patch = { evm: { chain_id: "137" }, tags: [3], connection: null, unknown: { deep: [{}] } };
    expect(mergeUserState(base, patch)).toEqual({
      evm: { address: "0x1", chain_id: "137" },
      tags: [3],
      connection: null,
      unknown: { deep: [{}] },
    });
  });

  it("replaces other values by objects, and objects by other values", () => {
    expect(mergeUserState({ a: 1, b: { c: 1 }, d: [1] }, { a: { x: 1 }, b: 2, d: { 0: 2 } })).toEqual({
      a: { x: 1 },
      b: 2,
      d: { 0: 2 },
    });
  });

  it("returns the same object if nothing changes, so that nothing is written", () => {
    const base = { evm: { address: "0x1", list: [{ a: 1 }] }, none: null };
    expect(mergeUserState(base, {})).toBe(base);
    expect(mergeUserState(base, { evm: {} })).toBe(base);
    expect(mergeUserState(base, { evm: { address: "0x1", list: [{ a: 1 }] }, none: null })).toBe(base);
    expect(mergeUserState(base, { none: false })).not.toBe(base);
  });

  it("does not modify its arguments", () => {
    const base = { evm: { address: "0x1" } };
    mergeUserState(base, { evm: { address: "0x2", chain_id: 5 } });
    expect(base).toEqual({ evm: { address: "0x1" } });
  });

  it("treats names of Object.prototype as ordinary keys", () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"a": 1}}') as JsonObject;
    const merged = mergeUserState({ a: 1 }, patch);
    expect(JSON.stringify(merged)).toBe('{"a":1,"__proto__":{"polluted":true},"constructor":{"a":1}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(JSON.stringify(mergeUserState(merged, patch))).toBe(JSON.stringify(merged));
  });

  it("is idempotent for any input", () => {
    fc.assert(
      fc.property(state, state, (base, patch) => {
        const once = mergeUserState(base, patch);
        expect(mergeUserState(once, patch)).toBe(once);
      }),
    );
  });
});

describe("the limits of user state", () => {
  it("are 8 KiB of JSON in UTF-8", () => {
    const fitting = USER_STATE_MAX_BYTES - JSON.stringify({ a: "" }).length;
    expect(userStateFits({ a: "x".repeat(fitting) })).toBe(true);
    expect(userStateFits({ a: "x".repeat(fitting + 1) })).toBe(false);
    expect(userStateFits({ a: "é".repeat(fitting / 2) })).toBe(true);
    expect(userStateFits({ a: "é".repeat(fitting / 2 + 1) })).toBe(false);
  });

  it("are sixteen levels of nesting", () => {
    expect(userStateFits(nested(16))).toBe(true);
    expect(userStateFits(nested(17))).toBe(false);
  });
});

describe("a merge that changes nothing", () => {
  it("returns the old value, for an empty patch over null or equal values in another order", () => {
    expect(mergeUserState(null, {})).toBeNull();
    const base = { list: [{ a: 1, b: 2 }] };
    expect(mergeUserState(base, { list: [{ b: 2, a: 1 }] })).toBe(base);
    expect(mergeUserState(base, { list: [{ b: 2, a: 3 }] })).not.toBe(base);
  });
});

describe("user state stored before its types were checked", () => {
  it("loses values of a wrong type, and keeps all others", () => {
    const old = { connection: "yes", evm: { address: "0x1", chain_id: true, name: [1] }, theme: { dark: 1 } };
    expect(withoutWrongTypes(old)).toEqual({ evm: { address: "0x1", name: [1] }, theme: { dark: 1 } });
    expect(withoutWrongTypes({ connection: { is_connected: "no", since: 1 }, evm: [] })).toEqual({
      connection: { since: 1 },
    });
  });

  it("conforms to the response schema, and is unchanged if it already did", () => {
    const field = fc.constantFrom<JsonValue>(null, true, 1, "x", [], {});
    const part = fc.oneof(
      field,
      fc.dictionary(fc.constantFrom("is_connected", "address", "chain_id", "__proto__", "more"), field, {
        noNullPrototype: true,
      }),
    );
    const stored = fc.dictionary(fc.constantFrom("connection", "evm", "__proto__", "other"), part, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(stored, (before) => {
        const after = withoutWrongTypes(before);
        expect(UserState.safeParse(after).success).toBe(true);
        if (UserState.safeParse(before).success) expect(after).toBe(before);
        expect(Object.hasOwn(after, "__proto__")).toBe(Object.hasOwn(before, "__proto__"));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a wallet address", () => {
  it("keeps its case, except for 0x addresses, which are case-insensitive", () => {
    expect(parsePublicKey("So1anaKey")).toBe("So1anaKey");
    expect(parsePublicKey("0xAbCdEf")).toBe("0xabcdef");
    expect(parsePublicKey("0XABCDEF")).toBe("0xabcdef");
  });

  it("has 1 to 128 characters", () => {
    expect(parsePublicKey("")).toBeNull();
    expect(parsePublicKey("a".repeat(128))).toHaveLength(128);
    expect(parsePublicKey("a".repeat(129))).toBeNull();
    expect(parsePublicKey("👍".repeat(64))).toHaveLength(128);
    expect(parsePublicKey("👍".repeat(65))).toBeNull();
  });

  it.each([
    "a b",
    " a",
    "a\t",
    "a\u00a0b",
    "a\u3000",
    "a\0",
    "a\u0007",
    "\u200b",
    "a\u202eb",
    "\ud800",
    "a\n",
  ])("contains no white space or unprintable characters: %j is invalid", (text) =>
    expect(parsePublicKey(text)).toBeNull(),
  );
});
