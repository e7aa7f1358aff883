// Reads each quirk of `test/quirks` over a real connection, like the model call of a turn.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { ProviderServer } from "../../../server/test/provider-server.ts";
import { answerQuirk, startQuirkProvider, writeQuirk } from "../../../server/test/quirks/quirk-provider.ts";
import {
  ANTHROPIC_QUIRKS,
  CHAT_QUIRKS,
  GOOGLE_QUIRKS,
  type Quirk,
  RESPONSES_QUIRKS,
} from "../../../server/test/quirks/quirks.ts";
import { ModelCaller } from "../turns/model-step.ts";
import { createModelCatalog, type ProviderSettings } from "./catalog.ts";

let provider: ProviderServer;
beforeAll(async () => {
  provider = await startQuirkProvider();
});
afterAll(() => provider.stop());

const TOOLS = [
  {
    name: "weather",
    description: "The weather of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    effect: "read",
  } as const,
];

/** Calls a model and advances the clock until the call ends. */
async function call(kind: ProviderSettings["kind"], quirk: Quirk, more: Partial<ProviderSettings> = {}) {
  const clock = new ManualClock();
  const warnings: string[] = [];
  const catalog = createModelCatalog({
    clock,
    extraModels: {},
    providers: { p: { kind, baseURL: provider.url, apiKey: "sk-secret-key-1", ...more } },
    onWarning: (_rig, warning) => warnings.push(warning),
  });
  const texts: string[] = [];
  let isDone = false;
  const answer = new ModelCaller()
    .call({
      model: await catalog.resolve(`p/${quirk.name}`),
      instructions: "",
      messages: [{ role: "user", content: "A private question" }],
      tools: TOOLS,
      usedCallIds: [],
      argumentBytes: 0,
      signal: new AbortController().signal,
      onText: (text) => texts.push(text),
      onProgress: () => undefined,
    })
    .finally(() => (isDone = true));
  while (!isDone) await clock.advance(100);
  const step = await answer;
  const failure = step.kind === "failed" ? catalog.describeFailure(step.error) : undefined;
  const facts = step.kind === "failed" ? catalog.failureFacts(step.error) : undefined;
  return { step, text: texts.join(""), failure, facts, warnings };
}

const KINDS: readonly (readonly [ProviderSettings["kind"], readonly Quirk[]])[] = [
  ["openai-compatible", CHAT_QUIRKS],
  ["openai", RESPONSES_QUIRKS],
  ["anthropic", ANTHROPIC_QUIRKS],
  ["google", GOOGLE_QUIRKS],
];

function expectOutcome(outcome: Awaited<ReturnType<typeof call>>, { expected }: Quirk): void {
  const { step, text, failure, facts } = outcome;
  if (expected.code === undefined && step.kind === "failed") throw step.error;
  expect(failure?.code).toBe(expected.code);
  expect(failure?.retryable).toBe(expected.retryable);
  if (expected.says !== undefined) expect(failure?.message).toContain(expected.says);
  expect(text).toBe(expected.text ?? "");
  if (expected.facts !== undefined) expect(facts?.body).toMatch(expected.facts);
  if (step.kind !== "finished") return;
  const reasoning = step.parts
    .filter(({ type }) => type === "reasoning")
    .map(({ text: thought }) => (typeof thought === "string" ? thought : ""));
  expect(reasoning.join("")).toBe(expected.reasoning ?? "");
  expect(step.text).toBe(expected.text ?? "");
  expect(step.calls.map(({ name, input }) => [name, input])).toEqual(expected.calls ?? []);
  expect(new Set(step.calls.map(({ id }) => id)).size).toBe(step.calls.length);
  if (expected.outputTokens !== undefined) expect(step.usage.outputTokens).toBe(expected.outputTokens);
}

describe.each(KINDS)("a response of %s", (kind, quirks) => {
  it.each(quirks.map((quirk) => [quirk.name, quirk] as const))(
    "is read despite the quirk %s, in pieces and as a whole",
    async (_, quirk) => {
      expectOutcome(await call(kind, quirk), quirk);
      const pieces = [Buffer.concat(quirk.pieces.map((piece) => Buffer.from(piece)))];
      provider.answer = (response) => void writeQuirk(response, { ...quirk, pieces });
      expectOutcome(await call(kind, quirk), quirk);
      provider.answer = answerQuirk;
    },
  );
});
