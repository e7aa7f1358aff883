import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Clock } from "../../core/ports/clock.ts";

export interface PacedPart {
  readonly part: LanguageModelV4StreamPart;
  /** How long after the part before it, in milliseconds. */
  readonly waitMs: number;
}

/**
 * A stream of parts, each at its time, as fast as they are read at most. An abort of `signal` errors the stream at once with the
 * signal's reason, as a provider's connection would; neither that nor a cancelled read leaves a timer or a listener.
 */
export function pacedStream(
  parts: Iterator<PacedPart, void>,
  clock: Clock,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const stop = new AbortController();
  let onAbort: (() => void) | undefined;
  const letGo = (): void => {
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
        letGo();
        controller.close();
        return;
      }
      // Rejects when the wait is stopped: the stream is errored or cancelled by then, and nobody hears it.
      if (next.value.waitMs > 0) await clock.sleep(next.value.waitMs, stop.signal);
      controller.enqueue(next.value.part);
    },
    cancel() {
      letGo();
      stop.abort();
    },
  });
}
