import type { Clock } from "../core/ports/driven/clock.ts";
import type { ModelCatalog } from "../core/ports/driven/model.ts";
import type { ModelStep } from "./model-step.ts";

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** Maximum honored `Retry-After`, because a person waits for the answer. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Retries a model call after retryable failures, as long as the step has streamed no text. Waits for the time
 * the provider requests (`Retry-After`), otherwise with a delay that doubles from one second. Returns the
 * last outcome; at once if the wait would exceed the turn's time, because the provider's error helps the user
 * more than a timeout.
 */
export async function retryModel(
  call: () => Promise<ModelStep>,
  options: {
    readonly models: Pick<ModelCatalog, "describeFailure">;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** Maximum number of retries. */
    readonly maxRetries: number;
    /** Returns the milliseconds that the turn may still wait. */
    readonly left: () => number;
  },
): Promise<ModelStep> {
  for (let attempt = 0; ; attempt += 1) {
    const step = await call();
    if (step.kind !== "failed" || step.hasStreamed || attempt >= options.maxRetries) return step;
    const { retryable, retryAfterMs } = options.models.describeFailure(step.error);
    if (!retryable || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return step;
    const delay = retryAfterMs ?? Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
    if (delay >= options.left()) return step;
    try {
      await options.clock.sleep(delay, options.signal);
    } catch {
      return { kind: "aborted" };
    }
  }
}
