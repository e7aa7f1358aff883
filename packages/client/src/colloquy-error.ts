import type { Problem } from "./wire.ts";

/** What is known of a failure beside its words. */
export interface ErrorFacts {
  readonly code: string;
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfter?: number | null;
  readonly cause?: unknown;
}

/**
 * Every failure of a request. What you abort yourself is no failure: that throws the reason of your signal.
 *
 * `code` is the word of the service's problem document (docs/api.md, "Errors"), or one of the client's own: `network_failed`, `timeout`
 * (nothing came in time), `answer_invalid` (200 with something that is not the service's), `http_error` (another status, likewise).
 */
export class ColloquyError extends Error {
  override readonly name = "ColloquyError";
  readonly code: string;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Id under which the service's log has the request; `null` when no answer named one. */
  readonly requestId: string | null;
  /** Seconds after which the service asks to be tried again; `null` when it did not say. */
  readonly retryAfter: number | null;

  constructor(message: string, { code, status = 0, requestId = null, retryAfter = null, cause }: ErrorFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** The error that an answer other than a success stands for. Reads the body. */
export async function errorOf(response: Response): Promise<ColloquyError> {
  const { status, headers } = response;
  // A body that breaks off takes nothing from what the status says.
  const problem = readProblem(await response.text().catch(() => ""));
  const retryAfter = headers.get("retry-after");
  return new ColloquyError(problem?.detail ?? `The answer has the status ${status}.`, {
    code: problem?.code ?? "http_error",
    status,
    requestId: headers.get("x-request-id") ?? problem?.request_id ?? null,
    // A date is not what this service sends, and a proxy's clock is not ours.
    retryAfter: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : null,
  });
}

/** Whether it may be different soon, so that the same request is worth another try. */
export function isPassing({ status }: ColloquyError): boolean {
  return status < 400 || status >= 500 || status === 408 || status === 429;
}

/** `null` for what is no problem document: then something between here and the service has answered. */
function readProblem(text: string): Partial<Problem> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
