// Google's Gemini API, streamGenerateContent (ai.google.dev/api/generate-content).

import type { Events, Part, Protocol } from "./protocols.ts";

const USAGE = {
  promptTokenCount: 11,
  cachedContentTokenCount: 4,
  // Thoughts are counted in addition to candidates.
  candidatesTokenCount: 4,
  thoughtsTokenCount: 3,
  totalTokenCount: 18,
};

export const google: Protocol = {
  rig: "google/gemini-2.5-flash",
  jsonTool: "json",
  beginning: (text) => [[null, chunk([{ text }])]],
  answer: (parts) => {
    const chunks = parts.flatMap(partsOf).map((part) => chunk([part]));
    const last = { ...chunk([]), usageMetadata: USAGE };
    last.candidates[0] = { ...last.candidates[0], finishReason: "STOP" };
    return [...chunks, last].map((data) => [null, data]) satisfies Events;
  },
  errorBody: (status, message) => ({
    error: { code: status, message, status: status === 401 ? "UNAUTHENTICATED" : "RESOURCE_EXHAUSTED" },
  }),
  conversation: ({ contents }) => contents,
  reasoningOf: ({ signature }) => signature,
  expectedConversation: ({ question, step: [reasoning, text, call], result, answer, next }) => [
    { role: "user", parts: [{ text: question }] },
    {
      role: "model",
      parts: [
        { text: reasoning.reasoning, thought: true, thoughtSignature: reasoning.signature },
        { text },
        { functionCall: { id: call.id, name: call.tool, args: call.input } },
      ],
    },
    {
      role: "user",
      parts: [
        {
          functionResponse: {
            id: call.id,
            name: call.tool,
            response: { name: call.tool, content: JSON.parse(result) },
          },
        },
      ],
    },
    {
      role: "model",
      parts: [
        { text: answer[0].reasoning, thought: true, thoughtSignature: answer[0].signature },
        { text: answer[1] },
      ],
    },
    { role: "user", parts: [{ text: next }] },
  ],
};

interface Chunk {
  readonly candidates: object[];
}

function chunk(parts: readonly object[]): Chunk {
  return { candidates: [{ content: { role: "model", parts }, index: 0 }] };
}

function partsOf(part: Part): object[] {
  if ("deltas" in part) return part.deltas.map((text) => ({ text }));
  if ("reasoning" in part) return [{ text: part.reasoning, thought: true, thoughtSignature: part.signature }];
  return [{ functionCall: { id: part.id, name: part.tool, args: part.input } }];
}
