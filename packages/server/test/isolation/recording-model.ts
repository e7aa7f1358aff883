// A model that records its input. It answers with one sentence, and first calls all tools if the message says
// "use the tool".

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import { USAGE } from "@colloquy/testing/internal/models/scripted-model";

export class RecordingModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "test";
  readonly modelId = "recording";
  readonly supportedUrls = {};
  /** The input of each call as JSON: prompt, tools and settings. */
  readonly received: string[] = [];
  readonly #sentence: string;
  readonly #input: object;

  /** `input` goes to every tool call. */
  constructor(sentence: string, input: object) {
    this.#sentence = sentence;
    this.#input = input;
  }

  doGenerate(): never {
    throw new Error("This model only streams");
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { abortSignal: _signal, ...received } = options;
    this.received.push(JSON.stringify(received));
    const tools = options.tools ?? [];
    const last = options.prompt.at(-1);
    const parts =
      tools.length > 0 && last?.role === "user" && JSON.stringify(last.content).includes("use the tool")
        ? callsOf(tools, this.#input)
        : answerOf(this.#sentence, options.responseFormat?.type === "json");
    return { stream: ReadableStream.from([{ type: "stream-start" as const, warnings: [] }, ...parts]) };
  }
}

function callsOf(
  tools: NonNullable<LanguageModelV4CallOptions["tools"]>,
  input: object,
): readonly LanguageModelV4StreamPart[] {
  return [
    ...tools.map(({ name: toolName }) => ({
      type: "tool-call" as const,
      toolCallId: crypto.randomUUID(),
      toolName,
      input: JSON.stringify(input),
    })),
    { type: "finish", finishReason: { unified: "tool-calls", raw: "tool-calls" }, usage: USAGE },
  ];
}

/** Answers with the sentence as text or JSON, as reasoning, and as the address of a source. */
function answerOf(sentence: string, isJson: boolean): readonly LanguageModelV4StreamPart[] {
  const url = `https://example.com/${sentence}`;
  return [
    { type: "reasoning-start", id: "1" },
    { type: "reasoning-delta", id: "1", delta: sentence },
    { type: "reasoning-end", id: "1" },
    { type: "source", sourceType: "url", id: "2", url, title: sentence },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: isJson ? JSON.stringify({ answer: sentence }) : sentence },
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
  ];
}
