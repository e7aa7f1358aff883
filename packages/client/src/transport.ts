// One request and its answer: headers, JSON, time limit, what went wrong, and trying again where that can do no harm.

import { ColloquyError, errorOf, isPassing } from "./colloquy-error.ts";
import { linkedAbort } from "./linked-abort.ts";
import { backoff, pause, REAL_TIMING, type Timing } from "./timing.ts";

export interface Abortable {
  /** Ends the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface Request extends Abortable {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Begins with a slash; the base URL goes before it. */
  readonly path: string;
  /** What is `undefined` is left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Whether it does no harm when it arrives twice. */
  readonly repeatable?: boolean;
  /** Milliseconds that the service was asked to wait before it answers. */
  readonly heldMs?: number;
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  readonly timing: Timing;
  /** How often a request is tried again at most. */
  readonly retries: number;
}

export interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

/** What every client of a service may be told. */
export interface ConnectionOptions {
  /** Where the service is, for instance `https://chat.example.com`; the page's own origin when absent. */
  readonly baseUrl?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What makes requests; the global `fetch` when absent. */
  readonly fetch?: typeof fetch;
  /** How often a request that can do no harm twice is tried again when the service cannot be reached; 5 when absent. */
  readonly retries?: number;
  /** Time and chance, for tests. */
  readonly timing?: Timing;
}

/** The way to the service of these options. `headers` are the client's own, which go over those of the options. */
export function transportOf(
  { baseUrl = "", retries = 5, timing = REAL_TIMING, ...options }: ConnectionOptions,
  headers: Readonly<Record<string, string>>,
): Transport {
  return new Transport({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: { ...options.headers, ...headers },
    // A browser's fetch must be called as the window's.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timing,
    retries,
  });
}

/** Milliseconds until an answer has to be there, beyond what the service was asked to wait. */
const PATIENCE_MS = 30_000;
const BACKOFF_MS = 500;
const BACKOFF_CEILING_MS = 8_000;
/** Seconds: who is asked to stay away for longer should hear of it. */
const LONGEST_RETRY_AFTER = 30;

export class Transport {
  readonly timing: Timing;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.timing = options.timing;
    this.#options = options;
  }

  /** The answer's JSON; `null` for 304. Throws a `ColloquyError`, or the reason of the request's signal. */
  async request<Body>(request: Request): Promise<Answer<Body> | null> {
    const { timing, retries } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#once<Body>(request);
      } catch (error) {
        if (!(error instanceof ColloquyError) || !request.repeatable || failures > retries) throw error;
        const retryAfter = error.retryAfter ?? 0;
        // 429 is about the caller and not about this moment: somebody should hear of it.
        if (!isPassing(error) || error.status === 429 || retryAfter > LONGEST_RETRY_AFTER) throw error;
        const jitter = backoff(timing, failures, BACKOFF_MS, BACKOFF_CEILING_MS);
        await pause(timing, retryAfter * 1000 + jitter, request.signal);
      }
    }
  }

  /** The answer to a request without conditions, which is never 304. */
  async required<Body>(request: Request): Promise<Answer<Body>> {
    const answer = await this.request<Body>(request);
    if (answer === null) throw answerInvalid("The answer is 304, and nobody asked for that.");
    return answer;
  }

  /** The JSON of the answer to a request without conditions. */
  async body<Body>(request: Request): Promise<Body> {
    return (await this.required<Body>(request)).body;
  }

  /** Opens a request without a limit of time; its body is the caller's to read. Throws a `ColloquyError` unless it succeeds. */
  async open(request: Request): Promise<Response> {
    const response = await this.#send(request, request.signal);
    if (response.ok) return response;
    const error = await errorOf(response);
    request.signal?.throwIfAborted();
    throw error;
  }

  async #once<Body>(request: Request): Promise<Answer<Body> | null> {
    const { timing } = this.#options;
    const abort = linkedAbort(request.signal);
    const timeout = new ColloquyError("The service did not answer in time.", { code: "timeout" });
    const timer = timing.after(PATIENCE_MS + (request.heldMs ?? 0), () => abort.abort(timeout));
    try {
      const response = await this.#send(request, abort.signal);
      if (response.status === 304) return null;
      if (!response.ok) throw await errorOf(response);
      return { body: await readJson<Body>(response), headers: response.headers };
    } catch (error) {
      throw abort.signal.aborted ? abort.signal.reason : error;
    } finally {
      timer.stop();
      abort.release();
    }
  }

  async #send(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    const { method = "GET", path, query = {}, body } = request;
    const { baseUrl, headers } = this.#options;
    signal?.throwIfAborted();
    try {
      return await this.#options.fetch(`${baseUrl}${path}${queryText(query)}`, {
        method,
        headers: withoutUndefined({
          ...headers,
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...request.headers,
        }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (cause) {
      throw signal?.aborted ? signal.reason : networkFailed(cause);
    }
  }
}

export function networkFailed(cause: unknown): ColloquyError {
  return new ColloquyError("The service cannot be reached.", { code: "network_failed", cause });
}

/** Something between here and the service has answered in its place. */
export function answerInvalid(message: string, cause?: unknown): ColloquyError {
  return new ColloquyError(message, { code: "answer_invalid", cause });
}

async function readJson<Body>(response: Response): Promise<Body> {
  const text = await response.text().catch((cause: unknown) => {
    throw networkFailed(cause);
  });
  try {
    return JSON.parse(text) as Body;
  } catch (cause) {
    throw answerInvalid("The answer is not JSON: something before the service has answered.", cause);
  }
}

function queryText(query: NonNullable<Request["query"]>): string {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString();
  return text === "" ? "" : `?${text}`;
}

function withoutUndefined(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
