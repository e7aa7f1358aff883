import { describe, expect, it } from "vitest";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { VersionReads } from "./replica-sync.ts";

const version = (id: string, head: number): SessionVersion => ({
  id,
  incarnation: "a",
  app: null,
  head,
  epoch: 0,
  streamed: null,
});

/** A store whose reads the test answers. */
function gatedStore() {
  const reads: {
    readonly ids: readonly string[];
    readonly answer: PromiseWithResolvers<SessionVersion[]>;
  }[] = [];
  const store = {
    versions: async (ids: readonly string[]) => {
      const answer = Promise.withResolvers<SessionVersion[]>();
      reads.push({ ids, answer });
      return await answer.promise;
    },
  };
  return { versions: new VersionReads(store), reads };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("VersionReads", () => {
  it("batches concurrent requests", async () => {
    const { versions, reads } = gatedStore();
    const answers = [versions.of("x"), versions.of("y"), versions.of("x")];
    await turn();
    expect(reads.map(({ ids }) => ids)).toEqual([["x", "y"]]);
    reads[0]!.answer.resolve([version("x", 7)]);
    expect(await Promise.all(answers)).toEqual([version("x", 7), null, version("x", 7)]);
  });

  it("starts a new read for requests during a read", async () => {
    const { versions, reads } = gatedStore();
    const early = versions.of("x");
    await turn();
    const late = [versions.of("x"), versions.of("y")];
    await turn();
    expect(reads).toHaveLength(1);
    reads[0]!.answer.resolve([version("x", 1)]);
    expect(await early).toEqual(version("x", 1));
    await turn();
    expect(reads[1]!.ids).toEqual(["x", "y"]);
    reads[1]!.answer.resolve([version("x", 2)]);
    expect(await Promise.all(late)).toEqual([version("x", 2), null]);
  });

  it("rejects only the requests of a failed read", async () => {
    const { versions, reads } = gatedStore();
    const failing = versions.of("x");
    await turn();
    reads[0]!.answer.reject(new Error("away"));
    await expect(failing).rejects.toThrow("away");
    const next = versions.of("x");
    await turn();
    reads[1]!.answer.resolve([version("x", 3)]);
    expect(await next).toEqual(version("x", 3));
  });

  it("limits the size of a batch", async () => {
    const { versions, reads } = gatedStore();
    const answers = Array.from({ length: 501 }, (_, n) => versions.of(String(n)));
    await turn();
    expect(reads[0]!.ids).toHaveLength(500);
    reads[0]!.answer.resolve([]);
    await turn();
    expect(reads[1]!.ids).toHaveLength(1);
    reads[1]!.answer.resolve([]);
    expect(await Promise.all(answers)).toEqual(answers.map(() => null));
  });
});
