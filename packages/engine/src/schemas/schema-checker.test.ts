import { Worker } from "node:worker_threads";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { SchemaProblem } from "../core/ports/driven/schema-check.ts";
import { SchemaChecker, type SchemaCheckerOptions } from "./schema-checker.ts";

const PERSON: JsonObject = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" }, size: { enum: ["S", "M"] } },
  required: ["name"],
  additionalProperties: false,
};

/** Takes exponential time to check, without errors that would fill the memory: every level is checked twice. */
function slow(): JsonObject {
  const levels = Array.from({ length: 32 }, (_, n): [string, JsonObject] => {
    const next = { $ref: n === 31 ? "#/$defs/end" : `#/$defs/l${n + 1}` };
    return [`l${n}`, { allOf: [next, next] }];
  });
  return {
    type: "object",
    $defs: { ...Object.fromEntries(levels), end: { type: "object" } },
    $ref: "#/$defs/l0",
  };
}

function wrong(text: string): SchemaProblem {
  return { kind: "wrong", text };
}

function unchecked(text: string): SchemaProblem {
  return { kind: "unchecked", text };
}

/** Creates a checker that is closed after the test. */
function newChecker(options: Partial<SchemaCheckerOptions> = {}): SchemaChecker {
  const checker = new SchemaChecker({ clock: new ManualClock(), ...options });
  onTestFinished(() => checker.close());
  return checker;
}

/** Returns what is sent to threads from now on. */
function recordPosts(): () => readonly { readonly schema: string }[] {
  const post = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => post.mockRestore());
  return () => post.mock.calls.map(([question]) => question as { readonly schema: string });
}

describe("schema checker", () => {
  let checker: ReturnType<SchemaChecker["of"]>;
  beforeEach(() => {
    checker = newChecker().of("default");
  });

  it("accepts JSON in the schema", async () => {
    expect(await checker.problem(PERSON)).toBeNull();
    expect(await checker.mismatch(PERSON, { name: "Ada", size: "S" })).toBeNull();
  });

  it.each<[string, JsonValue, string]>([
    ["an array", [], "it must be object"],
    [
      "several problems",
      { age: "1", size: "L", x: 1 },
      [
        "it must have required property 'name'",
        'it must NOT have additional properties ("x")',
        "/age must be integer",
        '/size must be equal to one of the allowed values (["S","M"])',
      ].join("; "),
    ],
  ])("describes an answer that is %s", async (_, answer, issue) => {
    expect(await checker.mismatch(PERSON, answer)).toEqual(wrong(issue));
  });

  it("describes hundreds of problems with the same long name within its memory", async () => {
    const schema: JsonObject = {
      type: "object",
      allOf: Array.from({ length: 500 }, () => ({ additionalProperties: false })),
    };
    const problem = await checker.mismatch(schema, { ["x".repeat(1_000_000)]: 1 });
    expect(problem).toEqual(wrong(expect.stringMatching(/^it must NOT .{900,}$/)));
  });

  it("describes an invalid schema", async () => {
    expect(await checker.problem({ type: "object", properties: { a: { type: "int" } } })).toEqual(
      wrong(expect.stringContaining("schema is invalid")),
    );
    expect(await checker.problem({ type: "object", $ref: "#/$defs/gone" })).toEqual(
      wrong(expect.stringContaining("#/$defs/gone")),
    );
  });

  it("reads a schema in its own dialect", async () => {
    const tuple = { type: "object", properties: { a: { items: [{ type: "string" }] } } };
    expect(await checker.problem(tuple)).toEqual(wrong(expect.stringContaining("schema is invalid")));
    const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", ...tuple };
    expect(await checker.problem(draft7)).toBeNull();
    expect(await checker.mismatch(draft7, { a: [1] })).toEqual(wrong("/a/0 must be string"));
  });

  it("stops a check after 100 ms, and answers the next one", async () => {
    const [late, next] = await Promise.all([
      checker.mismatch(slow(), {}),
      checker.mismatch(PERSON, { name: "Ada" }),
    ]);
    expect(late).toEqual(unchecked("it takes longer than 100 ms to check"));
    expect(next).toBeNull();
  });

  it("does not mix up schemas", async () => {
    for (let n = 0; n < 150; n += 1) {
      const schema = { type: "object", properties: { a: { const: n } } };
      expect(await checker.mismatch(schema, { a: n })).toBeNull();
      expect(await checker.mismatch(schema, { a: -1 })).toEqual(wrong("/a must be equal to constant"));
    }
  });

  it("checks any number of large schemas", async () => {
    const large = Array.from({ length: 4_000 }, () => ({}));
    for (let n = 0; n < 250; n += 1)
      expect(await checker.problem({ type: "object", title: `${n}`, default: large })).toBeNull();
  });

  it("checks recursive schemas, also one after the other", async () => {
    const list = (type: string) => ({ type: "object", properties: { value: { type }, next: { $ref: "#" } } });
    for (const _ of [1, 2]) {
      for (const [type, value] of [
        ["string", "a"],
        ["integer", 1],
      ] as const) {
        expect(await checker.mismatch(list(type), { next: { next: { value } } })).toBeNull();
        expect(await checker.mismatch(list(type), { next: { next: { value: true } } })).toEqual(
          wrong(`/next/next/value must be ${type}`),
        );
      }
    }
  });

  it("ignores names, which could collide with those of other schemas", async () => {
    const $id = "https://json-schema.org/draft/2020-12/schema";
    const named = { type: "object", $id, properties: { id: { $id, $anchor: "a", type: "string" } } };
    for (const _ of [1, 2]) {
      expect(await checker.mismatch({ ...named, title: `${_}` }, { id: "a" })).toBeNull();
      expect(await checker.mismatch(named, { id: 1 })).toEqual(wrong("/id must be string"));
    }
    expect(await checker.mismatch({ ...PERSON, id: "person", $async: true }, {})).toEqual(
      wrong("it must have required property 'name'"),
    );
  });

  it("keeps names of properties and data", async () => {
    const schema = { type: "object", properties: { $id: { const: { $id: 1 } } }, required: ["$id"] };
    expect(await checker.mismatch(schema, { $id: { $id: 1 } })).toBeNull();
    expect(await checker.mismatch(schema, { $id: {} })).toEqual(wrong("/$id must be equal to constant"));
  });

  it("gives up on a schema that refers to itself without an end", async () => {
    const endless = { type: "object", allOf: [{ $ref: "#" }, { $ref: "#" }] };
    expect(await checker.mismatch(endless, {})).toEqual(
      unchecked("its schema refers to itself without an end"),
    );
    expect(await checker.mismatch(PERSON, { name: "Ada" })).toBeNull();
  });
});

describe("the thread of the schema checker", () => {
  it("leaves the main thread free during a check", async () => {
    const checker = newChecker().of("default");
    await checker.problem(PERSON);
    const order: string[] = [];
    const checked = checker.mismatch(slow(), {}).then(() => order.push("check"));
    setImmediate(() => order.push("another request"));
    await checked;
    expect(order).toEqual(["another request", "check"]);
  });

  it("is ended if it does not answer in time, and only that check fails", async () => {
    const clock = new ManualClock();
    const checker = newChecker({ clock, limitMs: 1_000 }).of("default");
    const [late, ...others] = [
      checker.mismatch(PERSON, { name: "Ada" }),
      checker.mismatch(PERSON, { name: "Bob" }),
      checker.mismatch(PERSON, {}),
    ];
    const ended = vi.spyOn(Worker.prototype, "terminate");
    onTestFinished(() => ended.mockRestore());
    await clock.advance(1_000);
    expect(await late).toEqual(unchecked("it takes too long to check"));
    expect(ended).toHaveBeenCalledTimes(1);
    expect(await Promise.all(others)).toEqual([null, wrong("it must have required property 'name'")]);
    await clock.advance(10_000);
    expect(await checker.mismatch(PERSON, { name: "Ada" })).toBeNull();
  });

  it("restarts after a crash, and only the running check fails", async () => {
    const post = vi.spyOn(Worker.prototype, "postMessage");
    onTestFinished(() => post.mockRestore());
    const checker = newChecker().of("default");
    const asked = checker.mismatch(PERSON, { name: "Ada" });
    const others = [checker.mismatch(PERSON, { name: "Bob" }), checker.mismatch(PERSON, {})];
    await (post.mock.contexts[0] as Worker).terminate();
    expect(await asked).toEqual(unchecked("it takes too much memory to check"));
    expect(await Promise.all(others)).toEqual([null, wrong("it must have required property 'name'")]);
  });

  it("answers waiting checks when it is closed, and starts no other", async () => {
    const checker = newChecker();
    const checks = [1, 2].map(() => checker.of("default").problem(PERSON));
    await checker.close();
    const closed = { kind: "busy", text: "the service is stopping" };
    expect(await Promise.all([...checks, checker.of("default").problem(PERSON)])).toEqual(
      Array.from({ length: 3 }, () => closed),
    );
  });
});

describe("the queue of the schema checker", () => {
  /** A schema with a title, to recognize it. */
  const titled = (title: string): JsonObject => ({ type: "object", title });

  it("takes one check of each App in turn", async () => {
    const posts = recordPosts();
    const checker = newChecker();
    const checks = ["a", "a", "a", "b", "b", "c"].map((app, index) =>
      checker.of(app).problem(titled(`${app}${index}`)),
    );
    expect(await Promise.all(checks)).toEqual(checks.map(() => null));
    const order = posts().map(({ schema }) => (JSON.parse(schema) as { title: string }).title);
    expect(order).toEqual(["a0", "a1", "b3", "c5", "a2", "b4"]);
  });

  it("is bounded for each App", async () => {
    const checker = newChecker({ maxWaiting: 2 });
    // The first one leaves the queue at once.
    const checks = [0, 1, 2, 3].map((index) => checker.of("a").problem(titled(`a${index}`)));
    const ofOther = checker.of("b").problem(titled("b"));
    expect(await checks[3]).toEqual({ kind: "busy", text: "too many checks wait at the moment" });
    expect(await Promise.all([...checks.slice(0, 3), ofOther])).toEqual([null, null, null, null]);
    expect(await checker.of("a").problem(titled("later"))).toBeNull();
  });
});

describe("the bounds of the schema checker", () => {
  const nulls = (count: number) => Array.from({ length: count }, () => "null");
  const numbers = (count: number) => ({ list: Array.from({ length: count }, (_, index) => index) });
  const items = (schema: JsonObject): JsonObject => ({
    type: "object",
    properties: { list: { type: "array", items: schema } },
  });
  const nest = (levels: number): JsonObject => {
    let nested: JsonObject = {};
    for (let level = 1; level < levels; level += 1) nested = { a: nested };
    return nested;
  };

  it.each<[string, () => JsonObject, (() => JsonValue) | undefined, string]>([
    [
      "2,250 types for 16,000 numbers",
      () => items({ type: nulls(2_250) }),
      () => numbers(16_000),
      "too large to check",
    ],
    [
      "2,250 values for 16,000 numbers",
      () => items({ enum: nulls(2_250) }),
      () => numbers(16_000),
      "too large to check",
    ],
    ["a schema of too many values", () => ({ enum: nulls(4_095) }), undefined, "4096 values"],
    ["a schema that is nested too deep", () => nest(65), undefined, "nests too deep"],
    ["a schema that is nested without an end", () => nest(50_000), undefined, "nests too deep"],
    ["a value that is nested too deep", () => ({ type: "object" }), () => nest(65), "at most 64 levels"],
    [
      "a value that is nested without an end",
      () => ({ type: "object" }),
      () => nest(50_000),
      "at most 64 levels",
    ],
  ])("refuse %s before anything is sent to the thread", async (_, schema, value, text) => {
    const posts = recordPosts();
    const checker = newChecker().of("default");
    const problem = value === undefined ? checker.problem(schema()) : checker.mismatch(schema(), value());
    expect(await problem).toEqual(unchecked(expect.stringContaining(text)));
    expect(posts()).toEqual([]);
  });

  it("count the pairs of a schema's values and an input's", async () => {
    const posts = recordPosts();
    const checker = newChecker().of("default");
    const schema = items({ enum: Array.from({ length: 992 }, (_, index) => index) });
    // The schema has 999 values, so that 10,010 are left for the input, two of them around the numbers.
    expect(await checker.mismatch(schema, numbers(10_009))).toEqual(
      unchecked(expect.stringContaining("too large to check")),
    );
    expect(posts()).toEqual([]);
    expect(await checker.mismatch(schema, numbers(10_008))).toEqual(
      expect.objectContaining({ kind: "wrong" }),
    );
    expect(posts()).toHaveLength(1);
  });

  it("stop at the first problem of a large input, which has millions of them", async () => {
    const anyOf = Array.from({ length: 16 }, (_, n) => ({
      anyOf: Array.from({ length: 16 }, (_, m) => ({ const: `${n} ${m}` })),
    }));
    const checker = newChecker().of("default");
    const problem = await checker.mismatch(items({ anyOf }), numbers(16_000));
    expect(problem).toEqual(wrong(expect.stringContaining("/list/0 must be equal to constant")));
    expect(await checker.mismatch(PERSON, { name: 1, age: "1" })).toEqual(
      wrong("/name must be string; /age must be integer"),
    );
  });
});
