import { describe, expect, it } from "vitest";
import { resync } from "./difference.ts";
import type { SessionUpdate } from "./fold.ts";
import { UpdateQueue } from "./update-queue.ts";

const update = (title: string): SessionUpdate => ({
  session_id: "s",
  type: "title_changed",
  new_title: title,
});

describe("UpdateQueue", () => {
  it("returns events in order, to callers in order", async () => {
    const queue = new UpdateQueue();
    const asked = [queue.next(), queue.next()];
    queue.push([update("one")]);
    queue.push([update("two"), update("three")]);
    expect(await Promise.all(asked)).toEqual([update("one"), update("two")]);
    expect(await queue.next()).toEqual(update("three"));
  });

  it("returns queued events before it ends", async () => {
    const queue = new UpdateQueue();
    queue.push([update("one")]);
    queue.end(null);
    expect(await queue.next()).toEqual(update("one"));
    expect(await queue.next()).toBeNull();
    expect(await queue.next()).toBeNull();
  });

  it("throws once, then ends", async () => {
    const queue = new UpdateQueue();
    const asked = queue.next();
    queue.end(new Error("Refused"));
    queue.end(null);
    await expect(asked).rejects.toThrow("Refused");
    expect(await queue.next()).toBeNull();
  });

  it("keeps a thousand events, then replaces them with a resync notice", async () => {
    const queue = new UpdateQueue();
    for (let count = 0; count <= 1_000; count += 1) queue.push([update(String(count))]);
    queue.push([update("last")]);
    expect(await queue.next()).toEqual(resync("s"));
    expect(await queue.next()).toEqual(update("last"));
  });
});
