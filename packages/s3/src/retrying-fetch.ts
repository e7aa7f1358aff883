import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";

const ATTEMPTS = 4;
const FIRST_WAIT_MS = 200;
/** Time until the response's header arrives. Its body may take longer. */
const HEADER_MS = 60_000;
/** S3 asks clients to repeat requests with these statuses ("Error responses", section "SlowDown" and "InternalError"). */
const REPEATED: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Returns a `fetch` for requests that may be repeated, with bodies that can be read again. */
export function retryingFetch(clock: Pick<Clock, "after" | "sleep">): typeof fetch {
  return async (input, init) => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await once(input, init, clock).catch((error: unknown) => {
        if (attempt === ATTEMPTS) throw error;
        return null;
      });
      if (response !== null && (attempt === ATTEMPTS || !REPEATED.has(response.status))) return response;
      await response?.body?.cancel();
      await clock.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
    }
  };
}

async function once(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  clock: Pick<Clock, "after">,
): Promise<Response> {
  const abort = new AbortController();
  const timer = clock.after(HEADER_MS, () =>
    abort.abort(new Error(`There was no response in ${HEADER_MS / 1000} seconds.`)),
  );
  try {
    return await fetch(input, { ...init, signal: abort.signal });
  } finally {
    timer.stop();
  }
}
