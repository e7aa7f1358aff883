import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../config/config.ts";
import type { BeforeCall } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import type { ScriptedCall } from "../../test/scripted-model.ts";
import { MODEL, newId, startService, until, type TestService } from "../../test/service.ts";
import type { AppDefinition } from "../core/ports/driven/apps.ts";
import type { TitleJob } from "../core/ports/driven/job-store.ts";
import { Unavailable } from "../core/errors.ts";
import { Titles } from "./titles.ts";

let directory: string;
let service: TestService;
let id: string;
let before: BeforeCall;
let logged: string[];
const clock = new ManualClock();

/** The model that is talked to is asked for titles too. */
const adjust = (config: Config): Config => ({
  ...config,
  apps: { default: { ...config.apps["default"]!, utilityModel: MODEL } },
});
const log = (_fields: unknown, message: string): void => void logged.push(message);
const logger = { debug: log, info: log, warn: log, error: log };
const start = (): Promise<TestService> =>
  startService({ directory, clock, adjust, beforeCall: (...call) => before(...call), logger });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-"));
  before = () => undefined;
  logged = [];
  service = await start();
  id = newId();
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

const title = async (): Promise<string> => (await service.snapshot(id)).title;
const isTitleCall = (call: ScriptedCall): boolean =>
  call.prompt[0]?.startsWith("system: Write a title") === true;

/** The call for a title among the next two, and the turn's own. */
async function calls(): Promise<{ readonly titling: ScriptedCall; readonly turn: ScriptedCall }> {
  const [first, second] = [await service.model.next(), await service.model.next()];
  return isTitleCall(first) ? { titling: first, turn: second } : { titling: second, turn: first };
}

describe("a title", () => {
  it("is asked of the utility model beside the turn, and never delays it", async () => {
    await service.say(id, "How do I bridge USDC?");
    const { titling, turn } = await calls();
    turn.say("Like this.").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect(await title()).toBe("New Chat");
    expect(titling.prompt[1]).toContain("How do I bridge USDC?");
    titling.say('"Bridging USDC"').finish();
    await until(async () => (await title()) === "Bridging USDC");
    await service.say(id, "Thanks.");
    (await service.model.next()).finish();
    expect(service.model.waitingCalls).toBe(0);
  });

  it("is made from the message when the model takes longer than 15 seconds, even one that does not listen", async () => {
    await service.say(id, "How do I bridge USDC?");
    const { titling } = await calls();
    await clock.advance(14_999);
    expect(titling.options.abortSignal?.aborted).toBe(false);
    expect(await title()).toBe("New Chat");
    await clock.advance(1);
    expect(titling.options.abortSignal?.aborted).toBe(true);
    await until(async () => (await title()) === "How do I bridge USDC?");
  });

  it("is made from the message when the model fails, or says nothing", async () => {
    for (const answer of [
      (call: ScriptedCall) => call.fail(new Error("broken")),
      (call: ScriptedCall) => call.say("...").finish(),
    ]) {
      id = newId();
      await service.say(id, "How do I bridge USDC?");
      answer((await calls()).titling);
      await until(async () => (await title()) !== "New Chat");
      expect(await title()).toBe("How do I bridge USDC?");
    }
  });

  it("that the user sets meanwhile wins", async () => {
    await service.say(id, "hello");
    const { titling } = await calls();
    await service.threads.rename(id, "Mine");
    titling.say("Generated").finish();
    await service.pass(1_000);
    expect(await title()).toBe("Mine");
    expect(await service.store.jobs.claimTitles(10, 0)).toEqual([]);
  });

  it("of a life that is over does not reach the next one", async () => {
    await service.say(id, "the old life");
    const { titling } = await calls();
    await service.threads.remove(id);
    await service.snapshot(id);
    titling.say("Old").finish();
    await service.pass(1_000);
    expect(await title()).toBe("New Chat");
  });

  it("is not lost by a crash: the next process makes it when the job is due", async () => {
    await service.say(id, "hello");
    await calls();
    await service.crash();
    service = await start();
    expect(isTitleCall(await service.model.next())).toBe(false);
    await service.pass(29_000);
    expect(service.model.waitingCalls).toBe(0);
    await service.pass(11_000);
    const again = await service.model.next();
    expect(isTitleCall(again)).toBe(true);
    again.say("Found").finish();
    await until(async () => (await title()) === "Found");
  });

  it("that is being generated when the service stops is let go at once, and stays owed", async () => {
    await service.say(id, "How do I bridge USDC?");
    const { titling, turn } = await calls();
    turn.finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    service.titles.stop();
    expect(titling.options.abortSignal?.aborted).toBe(true);
    await service.pass(60_000);
    expect(await title()).toBe("New Chat");
    expect(logged).toEqual([]);
    await service.close();
    service = await start();
    await service.pass(10_000);
    (await service.model.next()).say("Bridging USDC").finish();
    await until(async () => (await title()) === "Bridging USDC");
  });

  it("that the store does not take is made again", async () => {
    await service.say(id, "hello");
    const { titling } = await calls();
    before = (method) => (method === "jobs.finishTitle" ? Promise.reject(full()) : undefined);
    titling.say("First").finish();
    await service.pass(1_000);
    expect(await title()).toBe("New Chat");
    before = () => undefined;
    await service.pass(40_000);
    const again = await service.model.next();
    again.say("Second").finish();
    await until(async () => (await title()) === "Second");
  });
});

describe("many titles at once", () => {
  const jobsOf = (count: number, app = "default"): TitleJob[] =>
    Array.from({ length: count }, (_, index) => ({
      sessionId: newId(),
      life: "none",
      app,
      utilityModel: "test/model",
      text: `message ${index}`,
    }));

  /** Titles whose model waits until it is let go. There is no App but the default one. */
  function waitingTitles(
    app: Partial<AppDefinition> = { models: ["test/model"], utilityModel: "test/model" },
    rigs: string[] = [],
  ) {
    const asked: ((title: string) => void)[] = [];
    const titles = new Titles({
      jobs: service.store.jobs,
      registry: service.registry,
      apps: { names: () => ["default"], get: (name) => (name === "default" ? (app as AppDefinition) : null) },
      clock,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      generate: (rig) => (rigs.push(rig), new Promise((resolve) => asked.push(resolve))),
      failureCode: () => "failed",
    });
    return { titles, asked };
  }

  it("are made eight at a time, a thousand may wait, and the rest stays in the store until it is due", async () => {
    const { titles, asked } = waitingTitles();
    for (const job of jobsOf(1_100)) titles.start(job);
    expect(asked).toHaveLength(8);
    let done = 0;
    while (done < asked.length) {
      asked[done]!("Title");
      done += 1;
      await until(() => asked.length >= Math.min(done + 8, 1_008));
    }
    await service.pass(1_000);
    expect(asked).toHaveLength(1_008);
    titles.stop();
  });

  it("are made of the message 15 seconds after their chats, all of them, when the model answers none", async () => {
    const stored: unknown[] = [];
    before = (method, parameters) => void (method === "jobs.finishTitle" && stored.push(parameters.at(-1)));
    const { titles, asked } = waitingTitles();
    const jobs = jobsOf(60);
    for (const job of jobs.slice(0, 30)) titles.start(job);
    await clock.advance(5_000);
    for (const job of jobs.slice(30)) titles.start(job);
    await clock.advance(9_999);
    expect([asked.length, stored]).toEqual([8, []]);
    await clock.advance(1);
    await until(() => stored.length === 30);
    await service.pass(4_000);
    expect(stored).toHaveLength(30);
    await service.pass(1_000);
    await until(() => stored.length === 60);
    expect(new Set(stored)).toEqual(new Set(jobs.map(({ text }) => text)));
    titles.stop();
  });

  it("that wait for a place get it from a model that is slow, and what is left of their 15 seconds", async () => {
    const stored: unknown[] = [];
    before = (method, parameters) => void (method === "jobs.finishTitle" && stored.push(parameters.at(-1)));
    const { titles, asked } = waitingTitles();
    for (const job of jobsOf(17)) titles.start(job);
    await clock.advance(10_000);
    for (const answer of asked.slice()) answer("Made");
    await until(() => asked.length === 16);
    await clock.advance(4_000);
    for (const answer of asked.slice(8, 12)) answer("Made late");
    await until(() => asked.length === 17);
    await clock.advance(1_000);
    await until(() => stored.length === 17);
    const count = (title: string) => stored.filter((one) => one === title).length;
    expect([count("Made"), count("Made late")]).toEqual([8, 4]);
    titles.stop();
  });

  it("that need no model wait for none", async () => {
    const stored: unknown[] = [];
    before = (method, parameters) => void (method === "jobs.finishTitle" && stored.push(parameters.at(-1)));
    const { titles } = waitingTitles();
    for (const job of jobsOf(9)) titles.start(job);
    titles.start({ ...jobsOf(1, "gone")[0]!, text: "plain" });
    await until(() => stored.length > 0);
    expect(stored).toEqual(["plain"]);
    titles.stop();
  });

  it("of an App that is gone are made of the message: what was said to it goes to no model, the default App's neither", async () => {
    const stored: unknown[] = [];
    before = (method, parameters) => void (method === "jobs.finishTitle" && stored.push(parameters.at(-1)));
    const { titles, asked } = waitingTitles();
    titles.start(jobsOf(1, "gone")[0]!);
    await until(() => stored.length > 0);
    expect(stored).toEqual(["message 0"]);
    expect(asked).toEqual([]);
    titles.stop();
  });

  it("are not made by a model that the App does not have any more", async () => {
    const rigs: string[] = [];
    const { titles } = waitingTitles({ models: ["test/other"], utilityModel: "test/utility" }, rigs);
    titles.start(jobsOf(1)[0]!);
    expect(rigs).toEqual(["test/utility"]);
    titles.stop();
  });

  it("are begun no more once the service stops, and what comes then from a model that does not listen is not stored", async () => {
    const stored: string[] = [];
    before = (method) => void (method === "jobs.finishTitle" && stored.push(method));
    const { titles, asked } = waitingTitles();
    for (const job of jobsOf(20)) titles.start(job);
    titles.stop();
    asked[0]!("Title");
    await service.pass(1_000);
    titles.start(jobsOf(1)[0]!);
    expect(asked).toHaveLength(8);
    expect(stored).toEqual([]);
  });

  it("are not looked for while others wait", async () => {
    const looked: string[] = [];
    before = (method) => void (method === "jobs.claimTitles" && looked.push(method));
    const { titles, asked } = waitingTitles();
    for (const job of jobsOf(9)) titles.start(job);
    await titles.lookForDue();
    expect(looked).toEqual([]);
    asked[0]!("Title");
    await until(() => asked.length === 9);
    await titles.lookForDue();
    expect(looked).toHaveLength(1);
    titles.stop();
  });
});

function full(): Unavailable {
  return new Unavailable(507, "insufficient_storage", "The disk is full.", 30);
}
