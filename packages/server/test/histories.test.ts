// Random conversations, sent with the real packages of all kinds of providers: each request satisfies the rules of
// its family. `COLLOQUY_HISTORIES` is the number of conversations.

import fc from "fast-check";
import type { ModelMessage } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import type { ToolDefinition } from "@colloquy/engine/internal/core/ports/driven/tool";
import type { PastTurn } from "@colloquy/engine/internal/core/ports/driven/store";
import { NO_USAGE, type StepRecord, type TurnState } from "@colloquy/engine/internal/core/turn";
import { createModelCatalog } from "@colloquy/engine/internal/models/catalog";
import { HistoryWindow } from "@colloquy/engine/internal/turns/history";
import { ModelCaller } from "@colloquy/engine/internal/turns/model-step";
import { noteOrigin, type PromptForm, promptOf } from "@colloquy/engine/internal/turns/prompt";
import { ManualClock } from "./manual-clock.ts";
import {
  anthropicProblems,
  compatibleProblems,
  googleProblems,
  openaiProblems,
} from "./providers/history-rules.ts";

const RUNS = Number(process.env["COLLOQUY_HISTORIES"] ?? 500);
/** Marks private data of other accounts and models. */
const FOREIGN = "foreign-data";

const FAMILIES = [
  { rig: "openai/gpt-5", problems: openaiProblems },
  { rig: "anthropic/claude-sonnet-4-5", problems: anthropicProblems },
  { rig: "google/gemini-3-pro", problems: googleProblems },
  { rig: "local/llama3.2", problems: compatibleProblems },
] as const;

const catalog = createModelCatalog({
  clock: new ManualClock(Date.UTC(2026, 0, 1)),
  extraModels: {},
  providers: {
    openai: { kind: "openai", apiKey: "k" },
    anthropic: { kind: "anthropic", apiKey: "k" },
    google: { kind: "google", apiKey: "k" },
    local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1" },
  },
});
const tools: readonly ToolDefinition[] = [
  { name: "calculator", description: "Calculates", inputSchema: { type: "object" }, effect: "idempotent" },
];
const bodies: string[] = [];

beforeEach(() => {
  bodies.length = 0;
  vi.stubGlobal("fetch", async (_url: unknown, { body }: { readonly body: string }) => {
    bodies.push(body);
    return Response.json({ error: { message: "not answered" } }, { status: 400 });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Returns the request body with which a provider's package sends the messages. */
async function bodyOf(rig: string, messages: readonly ModelMessage[]): Promise<string> {
  const step = await new ModelCaller().call({
    model: await catalog.resolve(rig),
    instructions: "Be brief.",
    messages,
    tools,
    usedCallIds: [],
    argumentBytes: 0,
    signal: new AbortController().signal,
    onText: () => undefined,
    onProgress: () => undefined,
  });
  if (step.kind !== "failed") throw new Error(`The call must fail, and it is ${step.kind}.`);
  const body = bodies.pop();
  if (body === undefined) throw step.error;
  return body;
}

const oddText = fc.oneof(
  fc.constantFrom("", " ", "\n\t", "Hello", "use the `<think>` tag", "名前", "…"),
  fc.string({ maxLength: 20 }),
);
const oddName = fc.oneof(
  fc.constantFrom(
    "calculator",
    "",
    "files.read",
    "get weather",
    "<|channel|>tool",
    "x".repeat(128),
    "1st",
    "名前",
    "constructor",
    "__proto__",
  ),
  fc.string({ maxLength: 8 }),
);
const oddId = fc.oneof(
  fc.constantFrom("", "a", "abcdefghi", "functions.x:0", "call_1", "x".repeat(90), "toolu_01", "call-1-2"),
  fc.string({ maxLength: 8 }),
);
const oddInput = fc.constantFrom<JsonValue>({}, { a: 1 }, null, "", "{}", [], 7, { "": null });

/** The metadata of each family, as its package reports it. `mark` makes ids unique. */
const METADATA: Readonly<Record<string, (mark: string) => JsonObject>> = {
  "openai/gpt-5": (mark) => ({ openai: { itemId: `rs_${mark}`, reasoningEncryptedContent: mark } }),
  "anthropic/claude-sonnet-4-5": (mark) => ({ anthropic: { signature: mark } }),
  "google/gemini-3-pro": (mark) => ({ google: { thoughtSignature: mark } }),
  "local/llama3.2": () => ({}),
};

type PartSpec =
  | { readonly type: "text"; readonly text: string; readonly isSigned: boolean }
  | { readonly type: "reasoning"; readonly text: string; readonly isSigned: boolean }
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly input: JsonValue;
      readonly isSigned: boolean;
    };

const part: fc.Arbitrary<PartSpec> = fc.oneof(
  fc.record({
    type: fc.constantFrom("text" as const, "reasoning" as const),
    text: oddText,
    isSigned: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("tool-call" as const),
    id: oddId,
    name: oddName,
    input: oddInput,
    isSigned: fc.boolean(),
  }),
);
const step = fc.record({
  parts: fc.array(part, { maxLength: 5 }),
  /** Family that made the step, and whether it was the account that is asked now. */
  family: fc.constantFrom(...FAMILIES.map(({ rig }) => rig)),
  isOtherAccount: fc.boolean(),
  isNoted: fc.boolean(),
  rejection: fc.option(fc.constant("This answer was rejected."), { freq: 6 }),
});
const turn = fc.record({
  user: oddText,
  state: fc.constantFrom<TurnState>("complete", "interrupted", "failed"),
  hasAnswer: fc.boolean(),
  steps: fc.array(step, { maxLength: 3 }),
  /** Number of results that are missing at the end. */
  missing: fc.nat(2),
  result: fc.constantFrom<JsonValue>("4", "", null, { a: [1] }, 7),
  rest: oddText,
  summary: fc.option(fc.constantFrom("They spoke of tea.", "Goal: order tea.\n\n1. Left to do: pay."), {
    freq: 4,
  }),
});
const conversation = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 6 }),
  budget: fc.oneof(fc.constant(1_000_000), fc.nat(4_000)),
  /** Number of refusals of the prompt as too long. */
  refusals: fc.oneof(fc.constant(0), fc.nat(3)),
});

type Value<A> = A extends fc.Arbitrary<infer T> ? T : never;
type TurnSpec = Value<typeof turn>;
type Conversation = Value<typeof conversation>;

/** Builds a stored turn. `rig` is asked now; the last turn is running. */
function storedTurn(spec: TurnSpec, number: number, rig: string, isLast: boolean): PastTurn {
  const message = (role: "user" | "assistant", content: string) => ({
    position: number,
    id: `${role}-${number}`,
    turn: number,
    role,
    content,
    status: "complete" as const,
    toolCalls: [],
    toolResults: [],
    createdAt: 0,
  });
  const steps = spec.steps.flatMap((one, index): StepRecord[] => {
    const parts = one.parts.map((part, place): JsonObject => {
      const isOwn = one.family === rig && !one.isOtherAccount && one.isNoted;
      const mark = `${isOwn ? "own" : FOREIGN}-${number}-${index}-${place}`;
      const metadata = METADATA[one.family]!(mark);
      const isSigned = part.isSigned && Object.keys(metadata).length > 0 && part.type !== "text";
      const options = isSigned ? { providerOptions: metadata } : {};
      if (part.type === "reasoning")
        return { type: "reasoning", text: isOwn ? part.text : `${FOREIGN} ${part.text}`, ...options };
      if (part.type === "text") return { type: "text", text: part.text, ...options };
      // OpenAI's encrypted reasoning belongs to reasoning only.
      const own =
        one.family === "openai/gpt-5" ? { providerOptions: { openai: { itemId: `fc_${mark}` } } } : options;
      const { id, name, input, isSigned: hasOptions } = part;
      return { type: "tool-call", toolCallId: id, toolName: name, input, ...(hasOptions ? own : {}) };
    });
    const origin = one.isOtherAccount ? "another account" : catalog.promptRules(one.family).origin;
    const noted = one.isNoted ? noteOrigin(parts, origin, "native") : parts;
    const hasCalls = parts.some(({ type }) => type === "tool-call");
    const rejection = hasCalls ? null : (one.rejection ?? (isLast ? "This answer was rejected." : null));
    const text = parts.flatMap((part) => (part["type"] === "text" ? [part["text"] as string] : [])).join("");
    const all = rejection === null ? noted : [...noted, { type: "rejection", text: rejection }];
    return [
      {
        number: index + 1,
        text: rejection === null ? text : "",
        parts: all,
        usage: NO_USAGE,
        finishReason: "stop",
      },
    ];
  });
  const calls = steps.flatMap(({ parts }) =>
    (parts as JsonObject[])
      .filter(({ type }) => type === "tool-call")
      .map(({ toolCallId }) => toolCallId as string),
  );
  const said = steps.map(({ text }) => text).filter((text) => text !== "");
  const results = calls.slice(0, calls.length - spec.missing).toReversed();
  return {
    number,
    state: isLast ? "running" : spec.state,
    userMessage: message("user", spec.user),
    agentMessage:
      !spec.hasAnswer && !isLast
        ? null
        : {
            ...message("assistant", [...said, spec.rest].join("\n\n")),
            toolResults: results.map((id) => ({
              call_id: id,
              name: "calculator",
              output: spec.result,
              is_error: false,
              duration_ms: 1,
            })),
            ...(spec.summary !== null &&
              !isLast && { summary: { text: spec.summary, tokensBefore: 2, tokensAfter: 1, at: 0 } }),
          },
    steps: spec.hasAnswer || isLast ? steps : [],
  };
}

function messagesFor(
  rig: string,
  { turns, budget, refusals }: Conversation,
  form: PromptForm,
): ModelMessage[] {
  const rules = catalog.promptRules(rig);
  const stored = turns.map((spec, index) => storedTurn(spec, index + 1, rig, index === turns.length - 1));
  const history = new HistoryWindow(stored, rules, budget, true);
  for (let refusal = 0; refusal < refusals; refusal += 1) history.shrink();
  return promptOf(history.entries(), rules, form);
}

describe.each(FAMILIES)("the history sent to $rig", ({ rig, problems }) => {
  it.each(["native", "plain"] as const)(
    `satisfies the rules of its family in the %s form, in ${RUNS} random conversations`,
    async (form) => {
      await fc.assert(
        fc.asyncProperty(conversation, async (spoken) => {
          const body = await bodyOf(rig, messagesFor(rig, spoken, form));
          expect(problems(JSON.parse(body) as Record<string, unknown>)).toEqual([]);
          expect(body).not.toContain(FOREIGN);
          expect(body).not.toContain('"colloquy"');
          expect(await bodyOf(rig, messagesFor(rig, spoken, form))).toBe(body);
        }),
        { numRuns: form === "native" ? RUNS : Math.ceil(RUNS / 10) },
      );
    },
    3_600_000,
  );
});
