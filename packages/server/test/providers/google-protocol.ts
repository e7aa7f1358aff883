// Google's Gemini API, streamGenerateContent (ai.google.dev/api/generate-content).

import type { Events, Piece, Protocol } from "./protocols.ts";

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
  begin: (text) => [[null, chunk([{ text }])]],
  answer: (pieces) => {
    const chunks = pieces.flatMap(pieceParts).map((part) => chunk([part]));
    const last = { ...chunk([]), usageMetadata: USAGE };
    last.candidates[0] = { ...last.candidates[0], finishReason: "STOP" };
    return [...chunks, last].map((data) => [null, data]) satisfies Events;
  },
  refusal: (status, message) => ({
    error: { code: status, message, status: status === 401 ? "UNAUTHENTICATED" : "RESOURCE_EXHAUSTED" },
  }),
  conversation: ({ contents }) => contents,
  replay: ({ question, step: [think, text, call], result, answer, next }) => [
    { role: "user", parts: [{ text: question }] },
    {
      role: "model",
      parts: [
        { text: think.think, thought: true, thoughtSignature: think.seal },
        { text },
        { functionCall: { id: call.id, name: call.call, args: call.input } },
      ],
    },
    {
      role: "user",
      parts: [
        {
          functionResponse: {
            id: call.id,
            name: call.call,
            response: { name: call.call, content: JSON.parse(result) },
          },
        },
      ],
    },
    {
      role: "model",
      parts: [
        { text: answer[0].think, thought: true, thoughtSignature: answer[0].seal },
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

function pieceParts(piece: Piece): object[] {
  if ("say" in piece) return piece.say.map((text) => ({ text }));
  if ("think" in piece) return [{ text: piece.think, thought: true, thoughtSignature: piece.seal }];
  return [{ functionCall: { id: piece.id, name: piece.call, args: piece.input } }];
}
