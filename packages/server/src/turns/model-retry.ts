import type { Clock } from "../core/ports/clock.ts";
import type { ModelCatalog } from "../core/ports/model.ts";
import type { ModelStep } from "./model-step.ts";

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** A person waits for the answer: a provider that asks for more than this is not waited for. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Calls a model again after failures that its provider calls retryable, while nothing of the step has been said: after the time the
 * provider asks for (`Retry-After`), else with a delay that doubles from one second. Answers the last outcome: at once when the wait
 * would take longer than the turn may, since what the provider says is more use to a person than that time was up.
 */
export async function retryModel(
  call: () => Promise<ModelStep>,
  options: {
    readonly models: Pick<ModelCatalog, "describeFailure">;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** How often a failed call is repeated. */
    readonly maxRetries: number;
    /** Milliseconds that the turn may still wait. */
    readonly left: () => number;
  },
): Promise<ModelStep> {
  for (let attempt = 0; ; attempt += 1) {
    const step = await call();
    if (step.kind !== "failed" || step.spoke || attempt >= options.maxRetries) return step;
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
