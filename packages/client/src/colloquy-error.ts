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
 * `network_failed`, `timeout` (no answer in time), `token_failed` (the `token` option threw), `answer_invalid` (status 200 with a body that is not the
 * service's), `http_error` (the same with another status).
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

/** Returns true if the same request may succeed soon. */
export function isTransient({ status }: ColloquyError): boolean {
  return status < 400 || status >= 500 || status === 408 || status === 429;
}

/** Returns `null` if `text` is not a problem document: a proxy answered instead of the service. */
function readProblem(text: string): Partial<Problem> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
