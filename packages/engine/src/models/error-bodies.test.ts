import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProviderCatalog, failureOf, type Rig } from "../../../server/test/provider-calls.ts";
import { answerJson, ProviderServer } from "../../../server/test/provider-server.ts";
import { ERROR_BODIES } from "./testing/error-bodies.ts";

const server = new ProviderServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

const RIGS: Readonly<Record<string, Rig>> = {
  OpenAI: "openai/gpt-5",
  Anthropic: "anthropic/claude-sonnet-4-5",
  Google: "google/gemini-2.5-flash",
};

it("covers more than twelve providers", () => {
  expect(new Set(ERROR_BODIES.map(({ provider }) => provider)).size).toBeGreaterThan(12);
});

describe.each(
  ERROR_BODIES.map((row) => [`${row.provider} ${row.status} ${JSON.stringify(row.body)}`, row] as const),
)("%s", (_, { provider, status, body, code, retryable, refusesHistory = false, says }) => {
  it("maps to the expected code and is retried only if transient", async () => {
    server.answer = answerJson(status, body);
    const failure = await failureOf(createProviderCatalog(server.url), RIGS[provider] ?? "local/llama3.2");
    expect({ ...failure, refusesHistory: failure?.refusesHistory ?? false }).toMatchObject({
      code,
      retryable,
      refusesHistory,
    });
    if (says !== undefined) expect(failure?.message).toContain(says);
  });
});
