import type { Problem } from "./wire.ts";

/** Details of a failure besides its message. */
export interface ErrorFacts {
  readonly code: string;
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfter?: number | null;
  readonly cause?: unknown;
}

/**
 * Every failure of a request, except your own aborts: those reject with your signal's reason.
 *
 * `code` is the code of the service's problem document (docs/api.md, "Errors") or one of the client's own:
 * `network_failed`, `timeout` (no answer in time), `token_failed` (the `token` option threw), `answer_invalid` (a success
 * that is not the service's), `http_error` (a failure that is not the service's), `no_stream_slot`, `no_streams` and
 * `stream_delayed` (why a session polls), `client_failed` (a mistake of this library or of its runtime).
 */
export class ColloquyError extends Error {
  override readonly name = "ColloquyError";
  readonly code: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** Id of the request in the service's log; `null` if no answer named one. */
  readonly requestId: string | null;
  /** Seconds to wait before the next try (`Retry-After`), or `null`. */
  readonly retryAfter: number | null;

  constructor(message: string, { code, status = 0, requestId = null, retryAfter = null, cause }: ErrorFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** Returns the error for an unsuccessful response. Reads the body. */
export async function errorOf(response: Response): Promise<ColloquyError> {
  const { status, headers } = response;
  // The status is known even if the body is cut off.
  const problem = readProblem(await response.text().catch(() => ""));
  const retryAfter = headers.get("retry-after");
  return new ColloquyError(problem?.detail ?? `The service answered with status ${status}.`, {
    code: problem?.code ?? "http_error",
    status,
    requestId: headers.get("x-request-id") ?? problem?.request_id ?? null,
    // Dates are ignored: this service sends seconds, and clocks of proxies may differ.
    retryAfter: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null,
  });
}

/**
 * Returns true if the same request may succeed soon: there was no valid response, or a temporary error (408,
 * 429, 5xx). An `http_error` comes from a proxy, so it counts as temporary unless the body is too large
 * (413).
 */
export function isTransient({ code, status }: ColloquyError): boolean {
  if (code === "http_error") return status !== 413;
  return status < 400 || status >= 500 || status === 408 || status === 429;
}

/** Returns a `ColloquyError` unchanged, and wraps any other error as `client_failed`. */
export function asColloquyError(error: unknown): ColloquyError {
  if (error instanceof ColloquyError) return error;
  const message = `The client failed: ${String(error)}`;
  return new ColloquyError(message, { code: "client_failed", cause: error });
}

/** Returns `null` if `text` is not a problem document of the service: a proxy answered instead. */
function readProblem(text: string): Problem | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { code, detail } = (value ?? {}) as Partial<Record<keyof Problem, unknown>>;
  return typeof code === "string" && typeof detail === "string" ? (value as Problem) : null;
}
