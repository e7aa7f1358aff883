import { describe, expect, it } from "vitest";
import { resync } from "./difference.ts";
import type { SessionUpdate } from "./fold.ts";
import { UpdateQueue } from "./update-queue.ts";

const update = (title: string): SessionUpdate => ({
  session_id: "s",
  type: "title_changed",
  new_title: title,
});

describe("a queue of events", () => {
  it("gives them in their order, to whoever asks first", async () => {
    const queue = new UpdateQueue();
    const asked = [queue.next(), queue.next()];
    queue.push([update("one")]);
    queue.push([update("two"), update("three")]);
    expect(await Promise.all(asked)).toEqual([update("one"), update("two")]);
    expect(await queue.next()).toEqual(update("three"));
  });

  it("gives what waits before it ends", async () => {
    const queue = new UpdateQueue();
    queue.push([update("one")]);
    queue.end(null);
    expect(await queue.next()).toEqual(update("one"));
    expect(await queue.next()).toBeNull();
    expect(await queue.next()).toBeNull();
  });

  it("throws once, and is over then", async () => {
    const queue = new UpdateQueue();
    const asked = queue.next();
    queue.end(new Error("Refused"));
    queue.end(null);
    await expect(asked).rejects.toThrow("Refused");
    expect(await queue.next()).toBeNull();
  });

  it("that nobody empties keeps a thousand, and then says to look at the snapshot", async () => {
    const queue = new UpdateQueue();
    for (let count = 0; count <= 1_000; count += 1) queue.push([update(String(count))]);
    queue.push([update("last")]);
    expect(await queue.next()).toEqual(resync("s"));
    expect(await queue.next()).toEqual(update("last"));
  });
});
