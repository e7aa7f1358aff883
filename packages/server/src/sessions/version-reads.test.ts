import { describe, expect, it } from "vitest";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { VersionReads } from "./version-reads.ts";

const version = (id: string, head: number): SessionVersion => ({
  id,
  life: "a",
  app: null,
  head,
  epoch: 0,
  streamed: null,
});

/** A store whose reads wait until they are answered. */
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

describe("reads of versions", () => {
  it("go together, and answer whoever asked", async () => {
    const { versions, reads } = gatedStore();
    const answers = [versions.of("x"), versions.of("y"), versions.of("x")];
    await turn();
    expect(reads.map(({ ids }) => ids)).toEqual([["x", "y"]]);
    reads[0]!.answer.resolve([version("x", 7)]);
    expect(await Promise.all(answers)).toEqual([version("x", 7), null, version("x", 7)]);
  });

  it("begin after they were asked for, however many are under way", async () => {
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

  it("fail alone: those that come after are read anew", async () => {
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

  it("are bounded in size", async () => {
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
