// Reloading the configuration of a running service: nothing is dropped, and changes apply from the next turn
// on.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Config } from "../src/config/config.ts";
import type { AppSettings } from "../src/core/app-settings.ts";
import {
  lines,
  MODEL,
  newId,
  RecordingSink,
  recordsOf,
  startService,
  until,
  type TestService,
} from "./service.ts";
import { FOR_ANYBODY, NO_APP_NAMED } from "./stream-access.ts";
import { ANONYMOUS } from "../src/core/session-access.ts";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService({
    adjust: (config) => ({ ...config, apps: { ...config.apps, shop: shopOf(config.apps["default"]!) } }),
  });
  id = newId();
});
afterEach(() => service.close());

function shopOf(settings: AppSettings): AppSettings {
  return { ...settings, models: [MODEL], utilityModel: "demo/assistant", instructions: "Sell shoes." };
}

/** Replaces the shop's settings; `null` removes the App. */
function reload(shop: Partial<AppSettings> | null, providers: Config["providers"] = {}): void {
  const config = { ...service.config, providers: { ...service.config.providers, ...providers } };
  const { default: settings, shop: before } = config.apps;
  const apps = { default: settings!, ...(shop !== null && { shop: { ...before!, ...shop } }) };
  service.reload({ ...config, apps });
}

const say = (message: string) => service.say(id, message, { app: "shop" });

/** A request for the session's models, which every key permits. */
const wanted = () => ({ ...NO_APP_NAMED, sessionId: id });

async function idle(): Promise<void> {
  await until(async () => !(await service.snapshot(id)).is_processing);
}

describe("a reloaded configuration", () => {
  it("drops no turn and no stream; the next turn has the new instructions, model and tools", async () => {
    await say("hello");
    const running = await service.model.next();
    const sink = new RecordingSink();
    await service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: new Set(["messages"]), lastEventId: null },
      sink,
      null,
    );
    running.say("half of ");
    const tools = service.config.apps["default"]!.tools;
    reload({ instructions: "Sell boots.", tools: { ...tools, builtIn: ["calculator"] } });
    running.say("an answer").finish();
    await idle();
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: hello",
      "agent complete: half of an answer",
    ]);
    expect(sink.ended).toBeNull();
    await say("and now?");
    const next = await service.model.next();
    expect(next.prompt[0]).toContain("Sell boots.");
    expect(next.options.tools?.map(({ name }) => name)).toEqual(["calculator"]);
    next.say("boots").finish();
    await idle();
    expect(sink.text).toContain("boots");
  });

  it("can add providers", async () => {
    reload({ models: ["mine/assistant"] }, { mine: { kind: "demo" } });
    await say("what is 12 * 7?");
    await idle();
    expect((await service.snapshot(id)).messages.at(-1)?.content).toContain("84");
  });

  it("applies a new default model to sessions without a selection", async () => {
    await say("hello");
    (await service.model.next()).say("hi").finish();
    await idle();
    reload({ models: ["demo/assistant"] });
    await say("who are you?");
    await idle();
    const { model, messages } = await service.snapshot(id);
    expect(model).toBe("demo/assistant");
    expect(messages.at(-1)?.content).toContain("demo");
    expect(await service.models.listModels(wanted(), null)).toEqual(["demo/assistant"]);
  });
});

describe("a removed App", () => {
  it("finishes its running turn, and fails queued ones with a message and without a model call", async () => {
    await say("first");
    const running = await service.model.next();
    await say("second");
    reload(null);
    running.say("answered").finish();
    await idle();
    const { messages, status, system_events: events } = await service.snapshot(id);
    expect(lines(messages)).toEqual([
      "user complete: first",
      "agent complete: answered",
      "user complete: second",
      "agent failed: ",
    ]);
    expect(status).toBe("idle");
    expect(JSON.stringify(events)).toContain("no longer offered");
    expect(service.model.waitingCalls).toBe(0);
  });

  it("gives 401 where a key is required, even for callers already authorized, and affects no other App", async () => {
    await say("hello");
    (await service.model.next()).say("hi").finish();
    await idle();
    reload(null);
    const { conversations, models, threads } = service;
    const unknown = { status: 401, code: "app_key_invalid" };
    await expect(say("again")).rejects.toMatchObject(unknown);
    const choice = { ...wanted(), rig: MODEL, utilityModel: null };
    await expect(models.setModel(choice, null)).rejects.toMatchObject(unknown);
    await expect(service.say(id, "as another")).rejects.toMatchObject({ status: 409, code: "app_mismatch" });
    await expect(models.listModels(wanted(), null)).rejects.toMatchObject(unknown);
    await service.evict();
    expect((await service.snapshot(id)).messages).toHaveLength(2);
    expect((await recordsOf(service, id, null, 10, null)).map(({ content }) => content)).toEqual([
      "hello",
      "hi",
    ]);
    expect(await conversations.interrupt(id, ANONYMOUS, null)).toBeDefined();
    expect(await threads.rename(id, "Mine", null)).toMatchObject({ title: "Mine" });
    await threads.remove(id, null);
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("continues when the App is configured again", async () => {
    await say("hello");
    (await service.model.next()).say("hi").finish();
    await idle();
    reload(null);
    await expect(say("again")).rejects.toMatchObject({ status: 401 });
    reload({});
    await say("again");
    const call = await service.model.next();
    expect(call.prompt.join()).toContain("hello");
    call.say("welcome back").finish();
    await idle();
  });
});
