// A fetch that records requests for the developer panel, without changing requests or responses.

import { fetchWithProgress } from "@colloquy/client";
import { withoutSecrets } from "./recorded-request.ts";
import type { RequestLog } from "./request-log.ts";

export interface Recording {
  readonly log: RequestLog;
  /** Makes the requests; `fetchWithProgress` when absent. */
  readonly fetch?: typeof globalThis.fetch;
  /** Base of relative URLs; the page's own address when absent. */
  readonly page?: string;
}

export function recordedFetch({
  log,
  fetch: send = fetchWithProgress,
  page,
}: Recording): typeof globalThis.fetch {
  return async (input, init) => {
    const startedAt = Date.now();
    const began = performance.now();
    const number = log.begin(callOf(input, init, page), startedAt);
    const end = (answer: { status: number; requestId: string | null; failure: string | null }): void =>
      log.end(number, { ...answer, durationMs: performance.now() - began });
    try {
      const response = await send(input, init);
      const { status, headers } = response;
      end({ status, requestId: headers.get("X-Request-Id"), failure: null });
      return response;
    } catch (error) {
      const isEnded = init?.signal?.aborted === true;
      end({ status: 0, requestId: null, failure: isEnded ? "aborted by the console" : messageOf(error) });
      throw error;
    }
  };
}

function callOf(
  input: string | URL | Request,
  init: RequestInit | undefined,
  page: string | undefined,
): ReturnType<typeof withoutSecrets> {
  const isRequest = input instanceof Request;
  const url = new URL(isRequest ? input.url : input, page ?? globalThis.location.href);
  const given = init?.headers ?? (isRequest ? input.headers : {});
  return withoutSecrets({
    method: (init?.method ?? (isRequest ? input.method : "GET")).toUpperCase(),
    url: url.href,
    // Keep the original spelling of names where possible.
    headers: Array.isArray(given) || given instanceof Headers ? new Headers(given) : Object.entries(given),
    body: typeof init?.body === "string" ? init.body : null,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "no answer";
}
