import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailure } from "../command.ts";
import { type RememberedThread, RememberedThreads, threadsFile } from "./remembered-threads.ts";

const HERE = "http://127.0.0.1:8080";
let directory = "";
let path = "";
let threads: RememberedThreads;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-threads-"));
  path = threadsFile({ XDG_STATE_HOME: directory }, "/home/nobody");
  threads = new RememberedThreads(path);
});
afterEach(() => rm(directory, { recursive: true }));

function thread(session_id: string, more: Partial<RememberedThread> = {}): RememberedThread {
  const at = "2026-01-01T00:00:00.000Z";
  return { service: HERE, session_id, title: `About ${session_id}`, app: "default", at, ...more };
}

async function ids(service = HERE): Promise<readonly string[]> {
  return (await threads.list(service)).map(({ session_id }) => session_id);
}

describe("the file", () => {
  it("follows the XDG Base Directory Specification, which allows only absolute paths", () => {
    const standard = "/home/ada/.local/state/colloquy/threads.jsonl";
    expect(threadsFile({}, "/home/ada")).toBe(standard);
    expect(threadsFile({ XDG_STATE_HOME: "" }, "/home/ada")).toBe(standard);
    expect(threadsFile({ XDG_STATE_HOME: "state" }, "/home/ada")).toBe(standard);
    expect(threadsFile({ XDG_STATE_HOME: "/state" }, "/home/ada")).toBe("/state/colloquy/threads.jsonl");
  });

  it("is readable only by its owner, even if its mode was different before", async () => {
    await threads.remember(thread("one"));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    await chmod(path, 0o644);
    await threads.remember(thread("two"));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("reports what to do if it cannot be written", async () => {
    await mkdir(path, { recursive: true });
    const refused = threads.remember(thread("one"));
    await expect(refused).rejects.toThrow(CommandFailure);
    await expect(refused).rejects.toThrow(/XDG_STATE_HOME/);
  });
});

describe("remembered threads", () => {
  it("are listed per service, latest change first, with their last title", async () => {
    expect(await ids()).toEqual([]);
    for (const id of ["one", "two", "three"]) await threads.remember(thread(id));
    await threads.remember(thread("two", { service: "http://elsewhere" }));
    await threads.remember(thread("one", { title: "Another title" }));
    expect(await ids()).toEqual(["one", "three", "two"]);
    expect((await threads.list(HERE))[0]?.title).toBe("Another title");
    expect(await ids("http://elsewhere")).toEqual(["two"]);
  });

  it("are not listed after forget, until they are remembered again", async () => {
    for (const id of ["one", "two"]) await threads.remember(thread(id));
    await threads.remember(thread("one", { forgotten: true }));
    expect(await ids()).toEqual(["two"]);
    await threads.remember(thread("one"));
    expect(await ids()).toEqual(["one", "two"]);
  });

  it("survive invalid lines, such as a line truncated by a full disk", async () => {
    await threads.remember(thread("one"));
    await writeFile(path, '{"service":"half\nnull\n[]\n{"session_id":7}\n', { flag: "a" });
    await threads.remember(thread("two"));
    expect(await ids()).toEqual(["two", "one"]);
  });

  it("are forgotten only for their own service", async () => {
    for (const id of ["one", "two"]) await threads.remember(thread(id));
    await threads.remember(thread("one", { service: "http://elsewhere" }));
    await threads.forget(HERE, "one");
    await threads.forget(HERE, "three");
    expect(await ids()).toEqual(["two"]);
    expect(await ids("http://elsewhere")).toEqual(["one"]);
    await threads.remember(thread("one"));
    expect(await ids()).toEqual(["one", "two"]);
  });

  it("are complete when several terminals write at the same time", async () => {
    const others = Array.from({ length: 20 }, (_, index) => thread(`other-${index}`));
    await Promise.all(others.map((one) => new RememberedThreads(path).remember(one)));
    expect((await ids()).toSorted()).toEqual(others.map(({ session_id }) => session_id).toSorted());
  });
});
