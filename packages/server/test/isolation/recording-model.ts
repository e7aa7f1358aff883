// A model that records all its input, calls the App's tools on request, and then answers with its sentence.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import { USAGE } from "../scripted-model.ts";

export class RecordingModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "test";
  readonly modelId = "recording";
  readonly supportedUrls = {};
  /** All input as JSON: prompts, tools and settings of every call. */
  readonly told: string[] = [];
  readonly #sentence: string;
  readonly #input: object;

  /** `input` is the input of its tool calls. */
  constructor(sentence: string, input: object) {
    this.#sentence = sentence;
    this.#input = input;
  }

  doGenerate(): never {
    throw new Error("This model only streams");
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const { abortSignal: _signal, ...told } = options;
    this.told.push(JSON.stringify(told));
    const tools = options.tools ?? [];
    const last = options.prompt.at(-1);
    const parts =
      tools.length > 0 && last?.role === "user" && JSON.stringify(last.content).includes("use the tool")
        ? callsOf(tools, this.#input)
        : textOf(this.#sentence);
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

function textOf(delta: string): readonly LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta },
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
  ];
}
