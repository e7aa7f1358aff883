import type { ServerResponse } from "node:http";

/** The longest an answer may wait (contract section 2), in seconds. */
const WAIT_MAX_SECONDS = 60;

/** `wait=10` or `wait="10"`, with its parameters; a name is a token, without case. */
const PREFERENCE = /^[\t ]*wait[\t ]*=[\t ]*(?:(\d+)|"(\d+)")[\t ]*(?:;.*)?$/i;
const ANY_WAIT = /^[\t ]*wait[\t ]*(?:[=;]|$)/i;

/**
 * Milliseconds that `Prefer: wait=N` lets the answer wait, at most 60 s; 0 without one. The first of several counts, and
 * one that is malformed is as good as none (RFC 7240 section 2).
 */
export function preferredWait(header: string | null): number {
  if (header === null) return 0;
  const first = splitOutsideQuotes(header).find((preference) => ANY_WAIT.test(preference));
  const match = first === undefined ? null : PREFERENCE.exec(first);
  const seconds = Number(match?.[1] ?? match?.[2] ?? 0);
  return Math.min(seconds, WAIT_MAX_SECONDS) * 1000;
}

function splitOutsideQuotes(list: string): string[] {
  return list.match(/(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g) ?? [];
}

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
