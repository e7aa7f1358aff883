import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { OpenInput } from "../../core/commands/open.ts";
import type { SessionTarget } from "../../core/commands/command.ts";
import { chatInput, existing, NOTHING, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import type { Call, Outcome } from "./calls.ts";
import { openDatabase, prepareIn } from "./database.ts";
import { FatalStoreError } from "./failures.ts";
import { type Commit, prepareCommit } from "./group-commit.ts";
import { prepareMethods } from "./methods.ts";
import { prepareTransaction } from "./transaction.ts";

/** An error as node:sqlite throws it. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error(`SQLite says ${errcode}`), { code: "ERR_SQLITE_ERROR", errcode });
}

describe("group commit", () => {
  let folder: string;
  let database: DatabaseSync;
  let commit: Commit;
  let extra: Map<string, () => unknown>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "colloquy-commit-"));
    database = openDatabase(folder, 0);
    extra = new Map();
    const prepare = prepareIn(database);
    const transaction = prepareTransaction(prepare);
    const methods = prepareMethods(prepare, transaction);
    commit = prepareCommit(database, {
      transaction,
      methods: { get: (method) => extra.get(method) ?? methods.get(method) },
      files: { check: () => undefined },
    });
  });
  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  const call = (method: Call["method"], ...parameters: unknown[]): Call => ({
    method,
    writes: true,
    at: 1000,
    parameters,
  });
  const read = (method: Call["method"], ...parameters: unknown[]): Call => ({
    ...call(method, ...parameters),
    writes: false,
  });
  const execute = (command: SessionCommand) => call("execute", command);
  const chat = (id: string, text: string) =>
    execute({ kind: "chat", target: target(id), input: chatInput(text) });
  const open = (to: SessionTarget, input: OpenInput = NOTHING) =>
    execute({ kind: "open", target: to, input });
  const find = (id: string) => read("sessions.find", id);
  const kinds = (outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) => ("value" in outcome ? "value" : outcome.failure.kind));
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);

  /** Makes the database full: no page can be added after this. */
  const fillDisk = () => {
    const pages = Number(database.prepare("PRAGMA page_count").get()?.["page_count"]);
    database.exec(`PRAGMA max_page_count = ${pages}`);
  };
  const growDisk = () => database.exec("PRAGMA max_page_count = 1000000");

  /** Sends chats until one does not fit, because partly filled pages may have some space left. */
  const fillUp = () => {
    for (let index = 0; index < 1000; index += 1) {
      const [outcome] = commit([chat(randomUUID(), "x".repeat(500))]);
      if (outcome !== undefined && "failure" in outcome) return outcome.failure;
    }
    return null;
  };

  it("commits calls together and answers them in order", () => {
    const ids = [randomUUID(), randomUUID()];
    const outcomes = commit([chat(ids[0]!, "one"), find(ids[0]!), chat(ids[1]!, "two"), find(randomUUID())]);
    expect(kinds(outcomes)).toEqual(["value", "value", "value", "value"]);
    expect(outcomes[1]).toMatchObject({ value: { id: ids[0], messageCount: 1 } });
    expect(outcomes[3]).toEqual({ value: null });
    expect(database.isTransaction).toBe(false);
  });

  it("rolls back only the call that throws, alone or in a batch", () => {
    extra.set("jobs.takeDuty", () => {
      database.exec("INSERT INTO title_jobs VALUES (999, 1)");
      throw new TypeError("a mistake");
    });
    const bring = call("secrets.bringInForce", "k", null);
    const outcomes = commit([
      chat(randomUUID(), "one"),
      bring,
      call("jobs.takeDuty"),
      chat(randomUUID(), "two"),
    ]);
    expect(kinds(outcomes)).toEqual(["value", "value", "defect", "value"]);
    expect(commit([read("secrets.keyInForce")])).toEqual([{ value: "k" }]);
    expect(kinds(commit([call("jobs.takeDuty")]))).toEqual(["defect"]);
    expect(count("sessions")).toBe(2);
    expect(count("title_jobs")).toBe(2);
    expect(database.isTransaction).toBe(false);
  });

  it("reports a full disk, keeps reading, and recovers by itself", () => {
    const id = randomUUID();
    const [first] = commit([chat(id, "kept")]);
    fillDisk();
    expect(fillUp()).toMatchObject({ kind: "full" });
    const outcomes = commit([
      find(id),
      chat(randomUUID(), "x".repeat(5000)),
      read("sessions.messages", id, null, 10, null),
      read("events.after", id, 0, 10),
      read("turns.countWaiting", 1),
      open(existing(id, true)),
    ]);
    expect(kinds(outcomes)).toEqual(["value", "full", "value", "value", "value", "value"]);
    expect(outcomes[0]).toMatchObject({ value: (first as { value: { session: object } }).value.session });
    expect(outcomes[2]).toMatchObject({ value: [{ content: "kept" }] });
    expect(outcomes[5]).toMatchObject({
      value: { created: false, loaded: { messages: [{ content: "kept" }] } },
    });
    growDisk();
    expect(kinds(commit([chat(randomUUID(), "x".repeat(5000)), chat(id, "again")]))).toEqual([
      "value",
      "value",
    ]);
  });

  it("fails only the call with an invalid row, and commits its neighbours", () => {
    commit(Array.from({ length: 40 }, () => chat(randomUUID(), "x".repeat(200))));
    commit([call("sessions.expire", { emptyBefore: 0, unboundBefore: 0, limit: 10 })]);
    const removed = randomUUID();
    commit([chat(removed, "x".repeat(30_000))]);
    commit([execute({ kind: "delete", target: existing(removed), input: null })]);
    // Some pages are free now, enough for small rows but not for a large one.
    fillDisk();
    const before = count("sessions");
    const outcomes = commit([
      chat(randomUUID(), "small"),
      chat(randomUUID(), "y".repeat(200_000)),
      chat(randomUUID(), "small too"),
    ]);
    expect(kinds(outcomes)).toEqual(["value", "full", "value"]);
    expect(count("sessions")).toBe(before + 2);
  });

  it("answers reads while writes fail, and rejects other calls", () => {
    const [id, wallet] = [randomUUID(), randomUUID()];
    commit([chat(id, "one"), open(target(wallet), { userState: { a: 1 }, publicKey: "0xa" })]);
    const incarnation = String(database.prepare("SELECT life FROM sessions WHERE id = ?").get(id)?.["life"]);
    // Every write fails from now on, as on a full disk.
    database.exec("PRAGMA query_only = ON");
    const outcome = (one: Call) => commit([one])[0];
    expect(outcome(open(target(id)))).toMatchObject({ value: { created: false } });
    const same = { userState: { a: 1 }, publicKey: "0xa" };
    expect(outcome(open(target(wallet), same))).toMatchObject({ value: { outcome: "ok" } });
    const mismatch = { userState: null, publicKey: "0xb" };
    expect(outcome(open(target(wallet), mismatch))).toMatchObject({
      value: { outcome: "wallet_mismatch" },
    });
    expect(outcome(open({ ...existing(id, true), access: { apps: ["defi"], user: null } }))).toMatchObject({
      value: { outcome: "other_app", loaded: null },
    });
    expect(outcome(open(existing(randomUUID())))).toEqual({ value: null });
    const noteUse = (session: string, incarnation: string) =>
      execute({ kind: "noteUse", target: { session, incarnation }, input: null });
    expect(outcome(noteUse(id, incarnation))).toMatchObject({ value: { outcome: "ok" } });
    expect(outcome(noteUse(wallet, "other"))).toEqual({ value: null });
    const changed = { userState: { a: 2 }, publicKey: null };
    expect(outcome(open(target(wallet), changed))).toHaveProperty("failure");
    expect(outcome(open(target(randomUUID())))).toHaveProperty("failure");
    expect(outcome(execute({ kind: "edit", target: existing(id), input: { title: "Mine" } }))).toHaveProperty(
      "failure",
    );
    expect(outcome(call("probe"))).toHaveProperty("failure");
  });

  it.each([
    ["a full disk", 13, "full"],
    ["a file-size limit or quota", 778, "full"],
    ["no room for the index of the log", 4874, "full"],
    ["another process that holds the database", 5, "unavailable"],
    ["a disk that cannot be read", 266, "unavailable"],
    ["a constraint", 1555, "defect"],
  ])("distinguishes %s from other errors", (_what, errcode, kind) => {
    const fail = () => {
      throw sqliteError(errcode);
    };
    extra.set("jobs.takeDuty", fail);
    expect(kinds(commit([call("jobs.takeDuty")]))).toEqual([kind]);
    expect(kinds(commit([chat(randomUUID(), "one"), call("jobs.takeDuty")]))).toEqual(["value", kind]);
  });

  it.each([1034, 1290])("returns no result and exits after a failed fsync (%i)", (errcode) => {
    const fail = () => {
      throw sqliteError(errcode);
    };
    extra.set("jobs.takeDuty", fail);
    expect(() => commit([call("jobs.takeDuty")])).toThrow(FatalStoreError);
    expect(() => commit([chat(randomUUID(), "one"), call("jobs.takeDuty")])).toThrow(FatalStoreError);
  });

  it("reads in a transaction that writers cannot affect", () => {
    const id = randomUUID();
    commit([chat(id, "one")]);
    const other = openDatabase(folder, 0);
    other.exec("BEGIN IMMEDIATE");
    expect(kinds(commit([find(id), read("events.after", id, 0, 10)]))).toEqual(["value", "value"]);
    expect(kinds(commit([find(id)]))).toEqual(["value"]);
    other.exec("ROLLBACK");
    other.close();
  });
});
