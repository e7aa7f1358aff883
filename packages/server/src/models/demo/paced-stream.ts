import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Clock } from "../../core/ports/driven/clock.ts";

export interface PacedPart {
  readonly part: LanguageModelV4StreamPart;
  /** Delay after the previous part, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Streams parts with their delays, with backpressure. Aborting `signal` errors the stream at once with the
 * signal's reason, as a provider's connection would. Neither an abort nor a cancelled read leaves a timer or
 * a listener.
 */
export function pacedStream(
  parts: Iterator<PacedPart, void>,
  clock: Clock,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const stop = new AbortController();
  let onAbort: (() => void) | undefined;
  const removeListener = (): void => {
    if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
  };
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      onAbort = (): void => {
        stop.abort();
        controller.error(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    },
    async pull(controller) {
      const next = parts.next();
      if (next.done === true) {
        removeListener();
        controller.close();
        return;
      }
      // `sleep` rejects only once the stream is errored or cancelled, so the rejection has no effect.
      if (next.value.waitMs > 0) await clock.sleep(next.value.waitMs, stop.signal);
      controller.enqueue(next.value.part);
    },
    cancel() {
      removeListener();
      stop.abort();
    },
  });
}
