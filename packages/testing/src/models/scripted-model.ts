// A model for tests. Every call waits until the test answers it.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";

/** Token usage of each call. */
export const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** A call of the model. The test writes its answer. */
export class ScriptedCall {
  readonly options: LanguageModelV4CallOptions;
  readonly stream: ReadableStream<LanguageModelV4StreamPart>;
  #controller!: ReadableStreamDefaultController<LanguageModelV4StreamPart>;
  #isOpen = false;

  constructor(options: LanguageModelV4CallOptions) {
    this.options = options;
    this.stream = new ReadableStream({ start: (controller) => void (this.#controller = controller) });
    this.#controller.enqueue({ type: "stream-start", warnings: [] });
  }

  /** Messages of the prompt as `ROLE: TEXT`, for assertions. */
  get prompt(): readonly string[] {
    return this.options.prompt.map((message) => {
      const content = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
      return `${message.role}: ${content}`;
    });
  }

  /** Streams each text as one delta. */
  say(...texts: string[]): this {
    if (!this.#isOpen) this.#controller.enqueue({ type: "text-start", id: "0" });
    this.#isOpen = true;
    for (const delta of texts) this.#controller.enqueue({ type: "text-delta", id: "0", delta });
    return this;
  }

  /** Streams parts in the AI SDK's format. */
  emit(...parts: readonly LanguageModelV4StreamPart[]): this {
    for (const part of parts) this.#controller.enqueue(part);
    return this;
  }

  /** Calls a tool. End the answer with `finish("tool-calls")`. */
  callTool(toolName: string, input: unknown, toolCallId: string = crypto.randomUUID()): this {
    this.#controller.enqueue({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });
    return this;
  }

  /** Ends the answer. */
  finish(unified: "stop" | "tool-calls" | "length" | "content-filter" | "error" = "stop"): void {
    if (this.#isOpen) this.#controller.enqueue({ type: "text-end", id: "0" });
    this.#controller.enqueue({ type: "finish", finishReason: { unified, raw: unified }, usage: USAGE });
    this.#controller.close();
  }

  /** Ends the answer with an error of the provider. */
  fail(error: unknown): void {
    this.#controller.error(error);
  }

  /** Closes the stream without its final part. */
  breakOff(): void {
    this.#controller.close();
  }
}

/** A streaming model. `next` returns its calls in order. */
export class ScriptedModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "test";
  readonly modelId = "scripted";
  readonly supportedUrls = {};
  readonly #calls: ScriptedCall[] = [];
  #asked = Promise.withResolvers<void>();

  /** Number of calls that `next` has not returned yet. */
  get waitingCalls(): number {
    return this.#calls.length;
  }

  /** Resolves with the next call once the model is called. */
  async next(): Promise<ScriptedCall> {
    for (;;) {
      const call = this.#calls.shift();
      if (call !== undefined) return call;
      await this.#asked.promise;
    }
  }

  doGenerate(): never {
    throw new Error("This model only streams");
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const call = new ScriptedCall(options);
    this.#calls.push(call);
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    return { stream: call.stream };
  }
}
