import type { ServerResponse } from "node:http";

const NEVER = new AbortController().signal;

/**
 * A signal that is aborted when the client goes before its answer began, for a request that waits; one that is never aborted for
 * a request that does not (`waitMs` 0).
 */
export function untilGone(response: ServerResponse, waitMs: number): AbortSignal {
  if (waitMs === 0) return NEVER;
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}
