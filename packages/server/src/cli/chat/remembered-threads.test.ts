import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandFailure } from "../command.ts";
import { RememberedThreads, threadsFile } from "./remembered-threads.ts";

let directory = "";
let path = "";
let threads: RememberedThreads;
let elsewhere: RememberedThreads;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-threads-"));
  path = threadsFile({ XDG_STATE_HOME: directory }, "/home/nobody");
  threads = new RememberedThreads(path, "http://127.0.0.1:8080");
  elsewhere = new RememberedThreads(path, "http://elsewhere");
});
afterEach(() => rm(directory, { recursive: true }));

const MESSAGE = { id: "1", sender: "user", content: "Hello", status: "complete", created_at: "" } as const;

function thread(session_id: string, title = `About ${session_id}`) {
  return { session_id, title, app: "default", messages: [MESSAGE] };
}

async function ids(of = threads): Promise<readonly string[]> {
  return (await of.list()).map(({ session_id }) => session_id);
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
  it("leave out conversations without messages", async () => {
    await threads.remember({ ...thread("one"), messages: [] });
    expect(await ids()).toEqual([]);
  });

  it("are listed per service, latest change first, with their last title", async () => {
    expect(await ids()).toEqual([]);
    for (const id of ["one", "two", "three"]) await threads.remember(thread(id));
    await elsewhere.remember(thread("two"));
    await threads.remember(thread("one", "Another title"));
    expect(await ids()).toEqual(["one", "three", "two"]);
    expect((await threads.list())[0]?.title).toBe("Another title");
    expect(await ids(elsewhere)).toEqual(["two"]);
  });

  it("are not listed after forget, until they are remembered again", async () => {
    for (const id of ["one", "two"]) await threads.remember(thread(id));
    await threads.forget("one");
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
    await elsewhere.remember(thread("one"));
    await threads.forget("one");
    await threads.forget("three");
    expect(await ids()).toEqual(["two"]);
    expect(await ids(elsewhere)).toEqual(["one"]);
    await threads.remember(thread("one"));
    expect(await ids()).toEqual(["one", "two"]);
  });

  it("are complete when several terminals write at the same time", async () => {
    const others = Array.from({ length: 20 }, (_, index) => thread(`other-${index}`));
    await Promise.all(others.map((one) => new RememberedThreads(path, "http://elsewhere").remember(one)));
    expect((await ids(elsewhere)).toSorted()).toEqual(others.map(({ session_id }) => session_id).toSorted());
  });
});
