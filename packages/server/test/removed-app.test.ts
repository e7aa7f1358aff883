// Apps that a restart adds or removes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { lines, MODEL, newId, recordsOf, startService, until, type TestService } from "./service.ts";
import { NO_APP_NAMED } from "./stream-access.ts";

let directory: string;
let service: TestService;
let id: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-removed-"));
  await start({ hasShop: true });
  id = newId();
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

async function start({ hasShop }: { readonly hasShop: boolean }): Promise<void> {
  service = await startService({
    directory,
    adjust: (config) => {
      const shop = { ...config.apps["default"]!, models: [MODEL] };
      return { ...config, apps: { ...config.apps, ...(hasShop && { shop }) } };
    },
  });
}

async function restart(apps: { readonly hasShop: boolean }): Promise<void> {
  await service.close();
  await start(apps);
}

const say = (message: string) => service.say(id, message, { app: "shop" });

async function idle(): Promise<void> {
  await until(async () => !(await service.snapshot(id)).is_processing);
}

describe("a removed App", () => {
  it("fails its turns with a message and without a model call", async () => {
    await say("first");
    await service.model.next();
    await say("second");
    await restart({ hasShop: false });
    await idle();
    const { messages, status, system_events: events } = await service.snapshot(id);
    expect(lines(messages)).toEqual([
      "user complete: first",
      "agent failed: ",
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
    await restart({ hasShop: false });
    const { conversations, models, threads } = service;
    const unknown = { status: 401, code: "app_key_invalid" };
    await expect(say("again")).rejects.toMatchObject(unknown);
    const wanted = { ...NO_APP_NAMED, sessionId: id };
    const choice = { ...wanted, rig: MODEL, utilityModel: null };
    await expect(models.setModel(choice, null)).rejects.toMatchObject(unknown);
    await expect(service.say(id, "as another")).rejects.toMatchObject({ status: 409, code: "app_mismatch" });
    await expect(models.listModels(wanted, null)).rejects.toMatchObject(unknown);
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
    await restart({ hasShop: false });
    await expect(say("again")).rejects.toMatchObject({ status: 401 });
    await restart({ hasShop: true });
    await say("again");
    const call = await service.model.next();
    expect(call.prompt.join()).toContain("hello");
    call.say("welcome back").finish();
    await idle();
  });
});
