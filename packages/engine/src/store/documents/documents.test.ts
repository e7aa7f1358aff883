import { describe, expect, it } from "vitest";
import { Documents, type DocumentStorage } from "./documents.ts";

interface Kinds {
  readonly note: string;
  readonly other: string;
}

/** Stores documents in a Map. `gate` delays or fails its writes. */
class Storage implements DocumentStorage {
  readonly documents = new Map<string, unknown>([["note a b", "first"]]);
  readonly saves: string[][] = [];
  gate: Promise<void> = Promise.resolve();
  isClosed = false;

  load = () => this.documents;
  async save(changes: ReadonlyMap<string, unknown>): Promise<void> {
    this.saves.push([...changes.keys()]);
    await this.gate;
    for (const [name, document] of changes)
      if (document === null) this.documents.delete(name);
      else this.documents.set(name, document);
  }
  close(): void {
    this.isClosed = true;
  }
}

async function opened() {
  const storage = new Storage();
  return { storage, documents: await Documents.open<Kinds>(storage) };
}

describe("documents", () => {
  it("reads stored documents, also if their ids contain spaces", async () => {
    const { documents } = await opened();
    expect(await documents.run((view) => [view.get("note", "a b"), view.get("other", "a b")])).toEqual([
      "first",
      null,
    ]);
  });

  it("makes changes visible after they are saved, and saves waiting changes in one batch", async () => {
    const { storage, documents } = await opened();
    const { promise, resolve } = Promise.withResolvers<void>();
    storage.gate = promise;
    const ends: string[] = [];
    const first = documents.run((view) => view.set("note", "x", "1")).then(() => ends.push("first"));
    const second = documents.run((view) => view.set("note", "y", "2")).then(() => ends.push("second"));
    const read = documents.run((view) => view.get("note", "x")).then((value) => ends.push(String(value)));
    await new Promise((next) => setImmediate(next));
    expect(ends).toEqual([]);
    resolve();
    await Promise.all([first, second, read]);
    expect(ends).toEqual(["first", "second", "1"]);
    expect(storage.saves).toEqual([["note x"], ["note y"]]);
  });

  it("rejects work whose changes cannot be saved, and discards them", async () => {
    const { storage, documents } = await opened();
    storage.gate = Promise.reject(new Error("The disk is gone"));
    const failing = documents.run((view) => view.set("note", "a b", null));
    await expect(failing).rejects.toMatchObject({ status: 503, code: "store_unavailable" });
    storage.gate = Promise.resolve();
    expect(await documents.run((view) => view.get("note", "a b"))).toBe("first");
  });

  it("discards only the changes of work that throws", async () => {
    const { storage, documents } = await opened();
    const results = await Promise.allSettled([
      documents.run((view) => view.set("note", "x", "1")),
      documents.run((view) => {
        view.set("note", "x", "2");
        throw new Error("No");
      }),
      documents.run((view) => [...view.entries("note")].length),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(storage.documents.get("note x")).toBe("1");
  });

  it("finishes waiting work before it closes, and rejects later work", async () => {
    const { storage, documents } = await opened();
    const written = documents.run((view) => view.set("note", "x", "1"));
    await Promise.all([written, documents.close()]);
    expect([storage.documents.get("note x"), storage.isClosed]).toEqual(["1", true]);
    await expect(documents.run(() => 1)).rejects.toMatchObject({ code: "store_closed" });
  });
});
