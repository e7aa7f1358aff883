import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../../../server/src/config/config.ts";
import type { BeforeCall } from "../../../server/test/intercepted-store.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { MODEL, newId, startService, until, type TestService } from "../../../server/test/service.ts";
import type { AppSettings } from "../core/app-settings.ts";
import { Unavailable } from "../core/errors.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { SUMMARY_LEASE_MS } from "./summaries.ts";

let directory: string;
let service: TestService;
let id: string;
let before: BeforeCall;
let logged: string[];
let settings: Partial<AppSettings>;
let isGone: boolean;
let clock: ManualClock;

const adjust = (config: Config): Config => {
  const app = config.apps["default"]!;
  const tools = { ...app.tools, approvals: { calculator: "always" as const }, allowsClientTools: true };
  const shop = { ...app, models: [MODEL], utilityModel: MODEL, tools, ...settings };
  return { ...config, apps: { default: app, ...(!isGone && { shop }) } };
};
const log = (_fields: unknown, message: string): void => void logged.push(message);
const logger = { debug: log, info: log, warn: log, error: log };
const start = (): Promise<TestService> =>
  startService({ directory, clock, adjust, beforeCall: (...call) => before(...call), logger });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-"));
  clock = new ManualClock();
  before = () => undefined;
  logged = [];
  settings = {};
  isGone = false;
  service = await start();
  id = newId();
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

const FRUITS = ["apple", "berry", "cherry", "date"];
const isTitle = ({ prompt }: ScriptedCall): boolean =>
  prompt[0]?.startsWith("system: Write a title") === true;
const isSummary = ({ prompt }: ScriptedCall): boolean =>
  prompt[0]?.startsWith("system: You summarize") === true;
const textOf = ({ prompt }: ScriptedCall): string => prompt.join("\n");

/** Returns the next model call, after answering those for titles. */
async function next(): Promise<ScriptedCall> {
  const call = await service.model.next();
  if (!isTitle(call)) return call;
  call.say("A title").finish();
  return await next();
}

/** Sends a message and answers it. Returns the turn's model call. */
async function answer(message: string, text: string, more: object = {}): Promise<ScriptedCall> {
  await service.say(id, message, { app: "shop", ...more });
  const call = await next();
  expect(isSummary(call)).toBe(false);
  call.say(text).finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
  return call;
}

/** Returns a text of about this size. The model's context window has room for 73 kB of history. */
const long = (word: string, bytes = 18_000): string => `${word} `.repeat(bytes / (word.length + 1));

/** Sends messages until the history is to be summarized. Returns the model call for the summary. */
async function filled(): Promise<ScriptedCall> {
  for (const word of FRUITS) await answer(`Tell me of ${word}`, long(word));
  const call = await next();
  expect(isSummary(call)).toBe(true);
  return call;
}

async function summaries(): Promise<readonly (number | undefined)[]> {
  const { messages } = await service.snapshot(id);
  return messages.flatMap(({ turn, summary }) => (summary === undefined ? [] : [turn]));
}
const kept = (...turns: readonly number[]) =>
  until(async () => JSON.stringify(await summaries()) === JSON.stringify(turns));
const metric = async (name: string): Promise<string> =>
  (await service.register.metrics())
    .split("\n")
    .filter((line) => line.startsWith(name))
    .join("\n");

describe("the summary of a long history", () => {
  it("replaces only the turns that it covers in later prompts", async () => {
    const summary = await filled();
    expect(textOf(summary).includes("Tell me of berry")).toBe(true);
    expect(textOf(summary).includes("Tell me of date")).toBe(false);
    summary.say("<summary>Fruits were described.</summary>").finish();
    await kept(3);
    const { messages } = await service.snapshot(id);
    expect(messages).toHaveLength(8);
    expect(messages[5]!.content).toBe(long("cherry"));
    expect(messages[5]!.summary).toEqual({
      tokens_before: expect.any(Number),
      tokens_after: expect.any(Number),
      created_at: expect.any(String),
    });
    const { prompt } = await answer("And now?", "Done.");
    expect(prompt.map((message) => message.slice(0, 300))).toEqual([
      expect.stringContaining("(The earlier messages"),
      expect.stringContaining("Summary of the earlier"),
      expect.stringContaining("Tell me of date"),
      expect.stringContaining("date"),
      expect.stringContaining("And now?"),
    ]);
    expect(prompt[1]).toContain("Fruits were described.");
    expect(await metric("colloquy_summaries_total")).toContain('{end="kept"} 1');
    expect(await metric("colloquy_history_tokens_saved_total")).toMatch(/ 1[78]\d{3}$/);
  });

  it("is replaced by its turns if client instructions leave too little room for it", async () => {
    await answer("Tell me of apple", long("apple", 50_000));
    await answer("Tell me of berry", long("berry", 1_500));
    await answer("Tell me of cherry", long("cherry", 21_000));
    (await next()).say(`<summary>Fruits. ${long("fruit", 17_000)}</summary>`).finish();
    await kept(2);
    const some = textOf(await answer("And now?", "Done.", { options: { instructions: "x".repeat(20_000) } }));
    expect([some.includes("Fruits."), some.includes("Tell me of berry")]).toEqual([true, false]);
    const most = { userState: { notes: "x".repeat(8_000) }, options: { instructions: "x".repeat(32_700) } };
    const many = textOf(await answer("And now?", "Done.", most));
    expect([many.includes("Fruits."), many.includes("Tell me of berry")]).toEqual([false, true]);
  });

  it("leaves room for the tools of the turn, as prompts do", async () => {
    const text = "Looks up orders. ".repeat(220);
    const tools = Object.fromEntries(
      Array.from({ length: 14 }, (_, index) => [
        `orders_${index}`,
        { description: text, inputSchema: { type: "object" } },
      ]),
    );
    const more = { options: { clientTools: tools } };
    const sizeOf = ({ options: { prompt, tools: sent } }: ScriptedCall) =>
      Buffer.byteLength(JSON.stringify([prompt, sent]));
    for (const word of FRUITS.slice(0, 2)) await answer(`Tell me of ${word}`, long(word, 9_000), more);
    const summary = await next();
    expect(isSummary(summary)).toBe(true);
    const calls = [await answer("Tell me of cherry", long("cherry", 9_000), more)];
    summary.say("<summary>Fruits.</summary>").finish();
    await kept(2);
    calls.push(await answer("And now?", "Done.", more));
    expect(textOf(calls[1]!).includes("Fruits.")).toBe(true);
    for (const call of calls) expect(sizeOf(call)).toBeLessThan(74_000);
  });

  it("is created for a history that the provider refuses as too long, and fits what it accepts", async () => {
    const refuse = (call: ScriptedCall) => call.fail({ type: "error", message: "prompt is too long" });
    for (const word of FRUITS.slice(0, 3)) await answer(`Tell me of ${word}`, long(word, 9_000));
    await service.say(id, "Tell me of date", { app: "shop" });
    refuse(await next());
    const shorter = await next();
    expect(textOf(shorter).includes("Tell me of apple")).toBe(false);
    shorter.say(long("date", 9_000)).finish();
    const summary = await next();
    expect(isSummary(summary)).toBe(true);
    expect(textOf(summary).includes("Tell me of apple")).toBe(true);
    summary.say("<summary>Fruits.</summary>").finish();
    await until(async () => (await summaries()).length === 1);
    const call = await answer("And now?", "Done.");
    expect(textOf(call).includes("Fruits.")).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(call.prompt))).toBeLessThan(14_000);
    expect(service.model.waitingCalls).toBe(0);
  });

  it("does not delay later turns, whose prompts are truncated until it exists", async () => {
    const summary = await filled();
    await answer("And now?", long("elder"));
    const more = textOf(await answer("More?", "Done."));
    expect(more.includes("apple")).toBe(false);
    expect(more.includes("date")).toBe(true);
    summary.say("<summary>Fruits.</summary>").finish();
    await kept(3);
    expect(textOf(await answer("More?", "Done.")).includes("Fruits.")).toBe(true);
  });

  it("is replaced by a summary of itself and newer turns once the window is full again", async () => {
    (await filled()).say("<summary>Fruits were described.</summary>").finish();
    await kept(3);
    await answer("Tell me of damson", long("damson"));
    await answer("Tell me of elder", long("elder"));
    await answer("Tell me of fig", long("fig"));
    const second = await next();
    expect(isSummary(second)).toBe(true);
    expect(textOf(second).includes("Fruits were described.")).toBe(true);
    expect(textOf(second).includes("Tell me of cherry")).toBe(false);
    second.say("<summary>Fruits, and more of them.</summary>").finish();
    await kept(3, 6);
    const { prompt } = await answer("And now?", "Done.");
    expect(prompt.join().includes("Fruits were described.")).toBe(false);
    expect(prompt.join().includes("Fruits, and more of them.")).toBe(true);
  });

  it.each([
    ["refuses", (call: ScriptedCall) => call.say("I'm sorry, I can't do that.").finish(), "empty"],
    ["fails", (call: ScriptedCall) => call.fail(new Error("broken")), "failed"],
    ["is cut", (call: ScriptedCall) => call.say("<summary>Fruits</summary>").finish("length"), "cut"],
    [
      "writes too much",
      (call: ScriptedCall) => call.say(`<summary>${long("fruit", 30_000)}</summary>`).finish(),
      "larger",
    ],
  ])("is retried three times and then abandoned if the model %s", async (_case, fail, end) => {
    fail(await filled());
    await until(async () => (await metric("colloquy_summaries_total")).includes(`{end="${end}"} 1`));
    expect(textOf(await answer("And now?", "Done.")).includes("date")).toBe(true);
    expect(service.model.waitingCalls).toBe(0);
    for (const ms of [60_000, 300_000, 1_800_000]) {
      await service.store.probe();
      await clock.advance(ms - 12_000);
      await service.pass(1_000);
      expect(service.model.waitingCalls).toBe(0);
      await service.pass(22_000);
      fail(await next());
      await service.store.probe();
    }
    await clock.advance(4_000_000);
    await service.pass(1_000);
    expect(service.model.waitingCalls).toBe(0);
    expect(await summaries()).toEqual([]);
    await answer("More?", long("damson"));
    (await next()).say("<summary>Fruits.</summary>").finish();
    await until(async () => (await summaries()).length === 1);
  });

  it("fails after two minutes, even if the model ignores the abort", async () => {
    const summary = await filled();
    await clock.advance(119_000);
    expect(summary.options.abortSignal?.aborted).toBe(false);
    await service.pass(1_000);
    expect(summary.options.abortSignal?.aborted).toBe(true);
    await until(async () => (await metric("colloquy_summaries_total")).includes('{end="failed"} 1'));
    expect(await summaries()).toEqual([]);
  });

  it("is created by the next process after a crash", async () => {
    await filled();
    await service.crash();
    service = await start();
    await clock.advance(SUMMARY_LEASE_MS - 20_000);
    await service.pass(1_000);
    expect(service.model.waitingCalls).toBe(0);
    await service.pass(30_000);
    const again = await next();
    expect(isSummary(again)).toBe(true);
    again.say("<summary>Fruits.</summary>").finish();
    await kept(3);
    await service.close();
    service = await start();
    expect(textOf(await answer("And now?", "Done.")).includes("Fruits.")).toBe(true);
  });

  it("is created again if the store fails to save it", async () => {
    const summary = await filled();
    let fails = true;
    const full = new Unavailable(507, "insufficient_storage", "The disk is full.", 60);
    before = (method) => (method === "keepSummary" && fails ? Promise.reject(full) : undefined);
    summary.say("<summary>Fruits.</summary>").finish();
    await until(() => logged.some((line) => line.startsWith("could not store a summary")));
    fails = false;
    await service.pass(SUMMARY_LEASE_MS + 10_000);
    (await next()).say("<summary>Fruits.</summary>").finish();
    await kept(3);
    expect(await metric("colloquy_summaries_total")).toContain('{end="kept"} 1');
  });

  it("is created while a turn waits for an approval, and used when the turn continues", async () => {
    const summary = await filled();
    await service.say(id, "Compute", { app: "shop" });
    (await next()).callTool("calculator", { expression: "1 + 1" }).finish("tool-calls");
    const pending = async () => (await service.snapshot(id)).pending_actions;
    await until(async () => (await pending()).length === 1);
    summary.say("<summary>Fruits.</summary>").finish();
    await kept(3);
    const [action] = await pending();
    await service.actions.decide(id, action!.id, { decision: "approve", result: null }, null);
    const { prompt } = await next();
    expect(prompt.map((message) => message.slice(0, 5))).toEqual([
      "user:",
      "assis",
      "user:",
      "assis",
      "user:",
      "assis",
      "tool:",
    ]);
    expect(prompt[1]).toContain("Fruits.");
    expect(prompt.at(-1)).toContain("2");
  });

  it("is copied by a fork and used in its prompts", async () => {
    (await filled()).say("<summary>Fruits.</summary>").finish();
    await kept(3);
    const [origin, copy] = [id, newId()];
    const target = { session: copy, through: null, admit: null };
    await service.threads.fork(origin, target, ANONYMOUS, { spelling: copy, admit: null });
    id = copy;
    expect(await summaries()).toEqual([3]);
    expect(textOf(await answer("And now?", "Done.")).includes("Fruits.")).toBe(true);
  });

  it("is discarded if an edit removes a message that it covers before it is stored", async () => {
    const summary = await filled();
    const { messages } = await service.snapshot(id);
    await service.say(id, "Tell me of plums", { app: "shop", replaces: messages[2]!.id });
    const turn = await next();
    summary.say("<summary>Berries.</summary>").finish();
    turn.say("Plums.").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    await service.pass(1_000);
    expect(await summaries()).toEqual([]);
    expect(textOf(await answer("And now?", "Done.")).includes("Berries.")).toBe(false);
  });

  it("is kept if an edit replaces a later message", async () => {
    (await filled()).say("<summary>Fruits.</summary>").finish();
    await kept(3);
    const { messages } = await service.snapshot(id);
    await service.say(id, "Tell me of plums", { app: "shop", replaces: messages[6]!.id });
    const turn = await next();
    expect(turn.prompt.join()).toContain("Fruits.");
    turn.say("Plums.").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect(await summaries()).toEqual([3]);
  });

  it("gives way to the previous one, or to the messages, in forks and edits before its message", async () => {
    (await filled()).say("<summary>Fruits.</summary>").finish();
    await kept(3);
    for (const word of ["damson", "elder", "fig"]) await answer(`Tell me of ${word}`, long(word));
    (await next()).say("<summary>More fruits.</summary>").finish();
    await kept(3, 6);
    const { messages } = await service.snapshot(id);
    const origin = id;
    const forkThrough = async (place: number): Promise<string> => {
      id = newId();
      const target = { session: id, through: messages[place]!.id, admit: null };
      await service.threads.fork(origin, target, ANONYMOUS, { spelling: id, admit: null });
      return textOf(await answer("And now?", "Done."));
    };
    const later = await forkThrough(9);
    expect(later.includes("More fruits.")).toBe(false);
    expect([later.includes("Fruits."), later.includes("Tell me of date")]).toEqual([true, true]);
    const earlier = await forkThrough(3);
    expect([earlier.includes("Fruits."), earlier.includes("Tell me of apple")]).toEqual([false, true]);
    id = origin;
    await service.say(id, "Tell me of plums", { app: "shop", replaces: messages[8]!.id });
    const turn = await next();
    expect(textOf(turn).includes("More fruits.")).toBe(false);
    expect([textOf(turn).includes("Fruits."), textOf(turn).includes("Tell me of date")]).toEqual([
      true,
      true,
    ]);
    turn.say("Plums.").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect(await summaries()).toEqual([3]);
  });

  it("is neither created nor used with `compaction: cut`", async () => {
    (await filled()).say("<summary>Fruits.</summary>").finish();
    await kept(3);
    await service.close();
    settings = { compaction: "cut" };
    service = await start();
    const { prompt } = await answer("And now?", long("damson"));
    expect(prompt.join().includes("Fruits.")).toBe(false);
    expect(prompt.join().includes("berry")).toBe(true);
    await service.pass(20_000);
    expect(service.model.waitingCalls).toBe(0);
  });

  it("is not created by the demo model", async () => {
    await service.close();
    settings = { utilityModel: "demo/assistant" };
    service = await start();
    for (const word of FRUITS) await answer(word, long(word));
    await service.pass(20_000);
    expect(service.model.waitingCalls).toBe(0);
  });

  it("is not created with another App's model after the App is removed", async () => {
    await filled();
    await service.crash();
    isGone = true;
    service = await start();
    await service.pass(SUMMARY_LEASE_MS + 10_000);
    expect(service.model.waitingCalls).toBe(0);
  });
});
