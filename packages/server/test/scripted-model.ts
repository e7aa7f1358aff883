// A model that says what a test tells it to, when the test tells it: every call waits at a gate until the test answers it.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";

/** What each call of a model in tests has used. */
export const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** One call that the model was asked to answer. */
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

  /** Roles and texts of the prompt, for assertions. */
  get prompt(): readonly string[] {
    return this.options.prompt.map((message) => {
      const content = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
      return `${message.role}: ${content}`;
    });
  }

  say(...texts: string[]): this {
    if (!this.#isOpen) this.#controller.enqueue({ type: "text-start", id: "0" });
    this.#isOpen = true;
    for (const delta of texts) this.#controller.enqueue({ type: "text-delta", id: "0", delta });
    return this;
  }

  /** Parts as a provider's package gives them. */
  emit(...parts: readonly LanguageModelV4StreamPart[]): this {
    for (const part of parts) this.#controller.enqueue(part);
    return this;
  }

  callTool(toolName: string, input: unknown, toolCallId: string = crypto.randomUUID()): this {
    this.#controller.enqueue({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) });
    return this;
  }

  finish(unified: "stop" | "tool-calls" | "length" | "content-filter" | "error" = "stop"): void {
    if (this.#isOpen) this.#controller.enqueue({ type: "text-end", id: "0" });
    this.#controller.enqueue({ type: "finish", finishReason: { unified, raw: unified }, usage: USAGE });
    this.#controller.close();
  }

  fail(error: unknown): void {
    this.#controller.error(error);
  }

  /** Ends the stream without its end. */
  breakOff(): void {
    this.#controller.close();
  }
}

export class ScriptedModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "test";
  readonly modelId = "scripted";
  readonly supportedUrls = {};
  readonly #calls: ScriptedCall[] = [];
  #asked = Promise.withResolvers<void>();

  /** Calls that were made and that no test has taken. */
  get waitingCalls(): number {
    return this.#calls.length;
  }

  /** The next call that is made; resolves when the model is asked. */
  async next(): Promise<ScriptedCall> {
    for (;;) {
      const call = this.#calls.shift();
      if (call !== undefined) return call;
      await this.#asked.promise;
    }
  }

  doGenerate(): never {
    throw new Error("This model streams");
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const call = new ScriptedCall(options);
    this.#calls.push(call);
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
    return { stream: call.stream };
  }
}
