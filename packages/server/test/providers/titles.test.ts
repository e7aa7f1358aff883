// Titles by a provider's model, generated beside the turn.

import { afterEach, describe, expect, it } from "vitest";
import { answerJson, type ProviderRequest, writeEvents } from "../provider-server.ts";
import { PROTOCOLS } from "./protocols.ts";
import { newSession, startProviderService, type ProviderService } from "./provider-service.ts";

let service: ProviderService;
afterEach(() => service.stop());

describe.each(PROTOCOLS.map((protocol) => [protocol.rig, protocol] as const))("%s", (rig, protocol) => {
  /** Starts the service with the rig as utility model; `title` answers requests for a title. */
  async function start(title: ProviderService["provider"]["answer"]): Promise<string> {
    service = await startProviderService(rig, { utilityModel: rig });
    service.provider.answer = (response, request) => {
      if (JSON.stringify(request.body).includes("Write a title")) return title(response, request);
      writeEvents(response, protocol.answer([{ say: ["Flour, water, time."] }]));
      response.end();
    };
    return newSession();
  }

  it("writes a title without tools and without the App's instructions", async () => {
    const session = await start((response) => {
      writeEvents(response, protocol.answer([{ say: ['"Baking ', 'bread."'] }]));
      response.end();
    });
    await service.chat(session, "How do I bake bread?", "wait");
    const snapshot = await service.stateWhen(session, ({ title }) => title !== "New Chat");
    expect(snapshot.title).toBe("Baking bread");
    const asked = service.provider.requests.map(({ body }) => JSON.stringify(body));
    const forTitle = asked.find((body) => body.includes("Write a title"));
    expect(asked).toHaveLength(2);
    expect(forTitle).toContain("How do I bake bread?");
    expect(forTitle).not.toMatch(/calculator|Be brief|"tools"/);
  });

  it("that fails leads to a title made from the message", async () => {
    const session = await start(answerJson(500, protocol.refusal(500, "broken")));
    await service.chat(session, "How do I bake bread?", "wait");
    const snapshot = await service.stateWhen(session, ({ title }) => title !== "New Chat");
    expect(snapshot.title).toBe("How do I bake bread?");
  });

  it("that takes over 15 seconds does so too, delays no answer, and its connection is closed", async () => {
    let asked: ProviderRequest | undefined;
    const session = await start((_response, request) => void (asked = request));
    const answered = await service.chat(session, "How do I bake bread?", "wait");
    expect(answered).toMatchObject({ is_processing: false, title: "New Chat" });
    await service.until(() => asked !== undefined);
    await service.pass(15_000);
    await asked!.closed;
    const snapshot = await service.stateWhen(session, ({ title }) => title !== "New Chat");
    expect(snapshot.title).toBe("How do I bake bread?");
  });
});
