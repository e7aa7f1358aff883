import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { recordArray } from "./send-array.ts";

const KIB = 1024;

function record(id: string, content: string): PersistedMessage {
  return {
    id,
    session_id: "s",
    thread_id: "s",
    role: "assistant",
    content,
    tool_calls: null,
    tool_results: null,
    created_at: "2026-01-01T00:00:00.000Z",
    turn: 1,
  };
}

/** Creates a page of these portions, and records the positions that were read. */
function pageOf(...portions: (readonly PersistedMessage[])[]) {
  const reads: (string | null)[] = [];
  const read = (after: string | null): Promise<readonly PersistedMessage[]> => {
    reads.push(after);
    const before = portions.findIndex((portion) => portion.at(-1)?.id === after);
    return Promise.resolve(portions[before + 1] ?? []);
  };
  return { read, next: null, reads, portions };
}

/** Collects garbage, including values that a weak reference returned in this turn of the event loop. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  await new Promise(setImmediate);
  (runInNewContext("gc") as () => void)();
}

const textOf = (pieces: readonly (Buffer | string)[]): string =>
  Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString();

describe("recordArray", () => {
  it("sends a large record in pieces of at most 256 KiB", async () => {
    const page = pageOf(
      [record("1", "short"), record("2", "")],
      [record("3", "水".repeat(300 * KIB))],
      [record("4", "end")],
    );
    const pieces = (await recordArray(page).toArray()) as (Buffer | string)[];
    expect(JSON.parse(textOf(pieces))).toEqual(page.portions.flat());
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(256 * KIB);
    expect(page.reads).toEqual([null, "2", "3", "4"]);
  });

  it("does not keep the rest of a large record while its client does not read", async () => {
    const page = pageOf([record("1", "x".repeat(1000 * KIB))]);
    const pieces: (Buffer | string)[] = [];
    for await (const piece of recordArray(page)) {
      pieces.push(piece as Buffer | string);
      await collectGarbage();
    }
    expect(JSON.parse(textOf(pieces))).toEqual(page.portions.flat());
    expect(page.reads.length).toBeGreaterThan(2);
  });

  it("reads at the pace of its client", async () => {
    const page = pageOf([record("1", "x".repeat(1000 * KIB))], [record("2", "")]);
    const stream = recordArray(page)[Symbol.asyncIterator]();
    await stream.next();
    await stream.next();
    expect(page.reads).toEqual([null]);
    await stream.return?.();
  });

  it("fails if a large record changes while it is sent", async () => {
    const page = pageOf([record("1", "x".repeat(1000 * KIB))]);
    const read = async () => {
      for await (const piece of recordArray(page)) {
        if ((piece as Buffer | string).length > 1) page.portions[0] = [record("1", "y".repeat(1000 * KIB))];
        await collectGarbage();
      }
    };
    await expect(read()).rejects.toThrow("A record changed");
  });

  it("is empty for an empty page", async () => {
    expect(textOf((await recordArray(pageOf()).toArray()) as string[])).toBe("[]");
  });
});
