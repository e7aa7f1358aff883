import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MODEL, newId, startService, type TestService } from "../../test/service.ts";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService();
  id = newId();
});
afterEach(() => service.close());

const choose = (rig: string, utilityModel: string | null = null) =>
  service.conversations.setModel({ sessionId: id, app: null, rig, utilityModel }, null);

describe("setting the model", () => {
  it("answers what is now in force, and whether it has created the session", async () => {
    expect(await choose("demo/assistant")).toEqual({
      success: true,
      rig: "demo/assistant",
      baml: "demo/assistant",
      created: true,
    });
    expect(await choose(MODEL, MODEL)).toEqual({ success: true, rig: MODEL, baml: MODEL, created: false });
    expect(await choose(MODEL)).toMatchObject({ baml: MODEL });
  });

  it("is kept, also out of memory, and decides who answers", async () => {
    await choose("demo/assistant");
    await service.evict();
    expect((await service.snapshot(id)).model).toBe("demo/assistant");
    await service.say(id, "hello");
    expect(service.model.waitingCalls).toBe(0);
    expect((await service.snapshot(id)).model).toBe("demo/assistant");
  });

  it.each([
    ["rig", "other/model", null],
    ["baml", MODEL, "other/model"],
  ])(
    "refuses a %s that the App does not offer, and creates nothing",
    async (parameter, rig, utilityModel) => {
      await expect(choose(rig, utilityModel)).rejects.toMatchObject({
        status: 400,
        code: "unknown_model",
        detail: expect.stringContaining(`\`${parameter}\``) as string,
      });
      expect(await service.store.sessions.find(id)).toBeNull();
    },
  );

  it("is a conflict in a session of another App", async () => {
    const birth = { life: "life", model: MODEL };
    await service.store.sessions.setModel(
      { id, birth, load: false },
      { app: "defi", rig: "a/b", utilityModel: null },
    );
    const request = { sessionId: id, app: "default", rig: MODEL, utilityModel: null };
    await expect(service.conversations.setModel(request, null)).rejects.toMatchObject({
      status: 409,
      code: "app_mismatch",
    });
  });
});

describe("the list of models", () => {
  it("is the session's App's, else the default App's, and creates nothing", async () => {
    const models = [MODEL, "demo/assistant"];
    expect(await service.conversations.listModels(null)).toEqual(models);
    expect(await service.conversations.listModels(id)).toEqual(models);
    expect(await service.store.sessions.find(id)).toBeNull();
  });
});
