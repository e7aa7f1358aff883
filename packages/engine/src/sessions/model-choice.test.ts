import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MODEL, newId, startService, withApps, type TestService } from "../../../server/test/service.ts";
import { NO_APP_NAMED } from "../../../server/test/stream-access.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService();
  id = newId();
});
afterEach(() => service.close());

const choose = (rig: string, utilityModel: string | null = null) =>
  service.models.setModel({ ...NO_APP_NAMED, sessionId: id, rig, utilityModel }, null);

describe("setting the model", () => {
  it("returns the current models, and whether it created the session", async () => {
    expect(await choose("demo/assistant")).toEqual({
      success: true,
      rig: "demo/assistant",
      baml: "demo/assistant",
      created: true,
    });
    expect(await choose(MODEL, MODEL)).toEqual({ success: true, rig: MODEL, baml: MODEL, created: false });
    expect(await choose(MODEL)).toMatchObject({ baml: MODEL });
  });

  it("survives an eviction, and selects the model of the next turn", async () => {
    await choose("demo/assistant");
    await service.evict();
    expect((await service.snapshot(id)).model).toBe("demo/assistant");
    await service.say(id, "hello");
    await service.pass(60_000);
    expect((await service.snapshot(id)).messages[1]?.status).toBe("complete");
    expect(service.model.waitingCalls).toBe(0);
    expect((await service.snapshot(id)).model).toBe("demo/assistant");
  });

  it.each([
    ["rig", "other/model", null],
    ["baml", MODEL, "other/model"],
  ])(
    "rejects a %s that the App does not offer, and creates nothing",
    async (parameter, rig, utilityModel) => {
      await expect(choose(rig, utilityModel)).rejects.toMatchObject({
        status: 400,
        code: "unknown_model",
        detail: expect.stringContaining(`\`${parameter}\``) as string,
      });
      expect(await service.store.sessions.find(id)).toBeNull();
    },
  );

  it("conflicts in a session of another App", async () => {
    await service.close();
    service = await startService({ adjust: withApps("defi") });
    await service.say(id, "hello", { app: "defi" });
    const request = {
      ...NO_APP_NAMED,
      sessionId: id,
      access: ANONYMOUS,
      app: "default",
      rig: MODEL,
      utilityModel: null,
    };
    await expect(service.models.setModel(request, null)).rejects.toMatchObject({
      status: 409,
      code: "app_mismatch",
    });
  });
});

describe("the list of models", () => {
  it("is that of the default App, and creates the named session", async () => {
    const models = [MODEL, "demo/assistant"];
    for (const sessionId of [null, id]) {
      expect(await service.models.listModels({ ...NO_APP_NAMED, sessionId }, null)).toEqual(models);
    }
    expect(await service.store.sessions.find(id)).toMatchObject({ app: null });
  });

  it("creates no session without admission", async () => {
    const refused = new Error("too many");
    const admit = { spelling: id, admit: () => Promise.reject(refused) };
    const request = { ...NO_APP_NAMED, sessionId: id };
    await expect(service.models.listModels(request, admit)).rejects.toBe(refused);
    expect(await service.store.sessions.find(id)).toBeNull();
  });
});

describe("the App of a request about models", () => {
  let apps: TestService;
  beforeEach(async () => {
    apps = await startService({ adjust: withApps("defi", "games") });
  });
  afterEach(() => apps.close());

  const asked: string[] = [];
  const wanted = (app: string | null, keyApp: string | null) => ({
    access: ANONYMOUS,
    app,
    keyApp,
    authorize: (name: string) => void asked.push(name),
  });
  const choice = { rig: MODEL, utilityModel: null };

  it.each([
    ["the named one", "defi", "games", "defi"],
    ["else the one that the key opens", null, "games", "games"],
    ["else the default one", null, null, "default"],
  ])(
    "is %s for a session without an App, and is authorized before anything is created",
    async (_, app, keyApp, expected) => {
      asked.length = 0;
      await apps.models.listModels({ ...wanted(app, keyApp), sessionId: null }, null);
      const forbidden = new Error("not for you");
      const refused = {
        ...wanted(app, keyApp),
        authorize(name: string) {
          asked.push(name);
          throw forbidden;
        },
      };
      await expect(apps.models.setModel({ ...refused, ...choice, sessionId: id }, null)).rejects.toBe(
        forbidden,
      );
      const list = apps.models.listModels({ ...refused, sessionId: id }, null);
      await expect(list).rejects.toBe(forbidden);
      expect(await apps.store.sessions.find(id)).toBeNull();
      await apps.models.setModel({ ...wanted(app, keyApp), ...choice, sessionId: id }, null);
      expect(await apps.store.sessions.find(id)).toMatchObject({ app: null, modelApp: expected });
      expect(asked).toEqual(Array(4).fill(expected));
    },
  );

  it("is that of the session once it has one", async () => {
    await apps.threads.create(id, null, ANONYMOUS, null);
    expect(await apps.conversations.appOf(id)).toBe("default");
    await apps.say(id, "hello", { app: "defi" });
    asked.length = 0;
    await apps.models.setModel({ ...wanted(null, "games"), ...choice, sessionId: id }, null);
    const list = { ...wanted(null, "games"), sessionId: id };
    expect(await apps.models.listModels(list, null)).toEqual([MODEL]);
    expect(asked).toEqual(["defi", "defi"]);
    for (const app of ["games", "default"]) {
      const other = apps.models.setModel({ ...wanted(app, null), ...choice, sessionId: id }, null);
      await expect(other).rejects.toMatchObject({ status: 409, code: "app_mismatch" });
      const listed = apps.models.listModels({ ...wanted(app, null), sessionId: id }, null);
      await expect(listed).rejects.toMatchObject({ status: 409, code: "app_mismatch" });
    }
  });

  it("is authorized before a conflict with the session's App is reported", async () => {
    await apps.say(id, "hello", { app: "defi" });
    const forbidden = new Error("not for you");
    const authorize = (name: string) => {
      if (name === "games") throw forbidden;
    };
    const request = { access: ANONYMOUS, app: "games", keyApp: null, authorize, sessionId: id };
    await expect(apps.models.listModels(request, null)).rejects.toBe(forbidden);
  });

  it("may differ in the first chat, which drops the chosen models", async () => {
    const chosen = { rig: "demo/assistant", utilityModel: MODEL };
    await apps.models.setModel({ ...wanted("default", null), ...chosen, sessionId: id }, null);
    expect(await apps.conversations.appOf(id)).toBe("default");
    await apps.say(id, "hello", { app: "defi" });
    (await apps.model.next()).say("hi").finish();
    const { app, model, system_events } = await apps.snapshot(id);
    expect({ app, model, system_events }).toEqual({ app: "defi", model: MODEL, system_events: [] });
    expect(await apps.store.sessions.find(id)).toMatchObject({ modelChosen: false, utilityModel: null });
  });
});

describe("the App of a session", () => {
  it("is known synchronously in memory, and read otherwise", async () => {
    const apps = await startService({ adjust: withApps("defi") });
    expect(await apps.conversations.appOf(id)).toMatchObject({ app: "default" });
    await apps.say(id, "hello", { app: "defi" });
    expect(apps.conversations.appOf(id)).toBe("defi");
    (await apps.model.next()).say("hi").finish();
    await apps.evict();
    await apps.evict();
    const answer = apps.conversations.appOf(id);
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toMatchObject({ app: "defi" });
    expect(await apps.conversations.appOf(newId())).toMatchObject({ app: "default" });
    await apps.close();
  });
});
