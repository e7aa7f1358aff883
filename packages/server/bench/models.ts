// Models that cost nothing, so that only their surroundings are measured. The user's last message determines
// their behaviour.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { machineMs } from "./machine-clock.ts";

/** Deltas of an instant answer. */
const DELTAS = ["Ten ", "small ", "pieces ", "of ", "text ", "make ", "up ", "this ", "whole ", "answer."];
/** Deltas per second of an answer to a message that starts with "stream". */
export const STREAMED_PER_SECOND = 20;

const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 10, text: 10, reasoning: undefined },
};

/** When a call for the message "follow NAME" started and when it was aborted, on the machine's clock. */
export interface FollowedCall {
  readonly begunAt: number;
  abortedAt: number | null;
}

export interface BenchModel {
  readonly model: LanguageModelV4;
  /** The last call of each name. */
  readonly calls: ReadonlyMap<string, FollowedCall>;
  /** Returns the number of pieces emitted so far by all "stream" answers. */
  pieces(): number;
  /** Releases all parked calls, now and from now on. */
  open(): void;
  /** Streams text in the answer to the message "follow NAME". */
  say(name: string, text: string): void;
}

/**
 * A model that answers with ten deltas at once. Messages that start with "park" wait until the gate opens;
 * "stream" gets twenty deltas a second and "follow" the text given to `say`, both until aborted.
 */
export function createBenchModel(): BenchModel {
  const gate = Promise.withResolvers<void>();
  const followers = new Map<string, (text: string) => void>();
  const calls = new Map<string, FollowedCall>();
  let pieces = 0;
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: "text", text: DELTAS.join("") }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: USAGE,
      warnings: [],
    }),
    doStream: async (options) => {
      const message = lastUserText(options);
      if (message.startsWith("park")) await waitForGate(gate.promise, options.abortSignal);
      if (message.startsWith("stream")) {
        const stream = endlessStream(options.abortSignal, (say) =>
          repeat((text) => {
            pieces += 1;
            say(text);
          }, "another piece "),
        );
        return { stream };
      }
      if (message.startsWith("follow ")) {
        const name = message.slice("follow ".length);
        noteCall(calls, name, options.abortSignal);
        return { stream: endlessStream(options.abortSignal, (say) => follow(followers, name, say)) };
      }
      return { stream: instantStream() };
    },
  };
  return {
    model,
    calls,
    pieces: () => pieces,
    open: () => gate.resolve(),
    say: (name, text) => followers.get(name)?.(text),
  };
}

function noteCall(calls: Map<string, FollowedCall>, name: string, signal: AbortSignal | undefined): void {
  const call: FollowedCall = { begunAt: machineMs(), abortedAt: null };
  calls.set(name, call);
  signal?.addEventListener("abort", () => (call.abortedAt = machineMs()), { once: true });
}

function instantStream(): ReadableStream<LanguageModelV4StreamPart> {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...DELTAS.map((delta) => ({ type: "text-delta", id: "1", delta }) as const),
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
  ];
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** `begin` gets a function that emits text, and returns one that stops. */
function endlessStream(
  signal: AbortSignal | undefined,
  begin: (say: (text: string) => void) => () => void,
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue({ type: "stream-start", warnings: [] });
      controller.enqueue({ type: "text-start", id: "1" });
      const end = begin((delta) => controller.enqueue({ type: "text-delta", id: "1", delta }));
      signal?.addEventListener("abort", () => {
        end();
        controller.error(signal.reason);
      });
    },
  });
}

function repeat(say: (text: string) => void, text: string): () => void {
  const timer = setInterval(say, 1000 / STREAMED_PER_SECOND, text);
  return () => clearInterval(timer);
}

function follow(followers: Map<string, (text: string) => void>, name: string, say: (text: string) => void) {
  followers.set(name, say);
  return () => followers.delete(name);
}

function waitForGate(gate: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    void gate.then(resolve);
  });
}

function lastUserText({ prompt }: LanguageModelV4CallOptions): string {
  const last = prompt.findLast(({ role }) => role === "user");
  return last?.role === "user"
    ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : "";
}
