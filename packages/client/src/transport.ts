// One request and its response: headers, JSON, time-out, errors, and retries of repeatable requests.

import { ColloquyError, errorOf, isTransient } from "./colloquy-error.ts";
import { beforeAbort, linkedAbort } from "./linked-abort.ts";
import { backoff, pause, REAL_TIMING, type Timing } from "./timing.ts";

export interface Abortable {
  /** Aborts the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface Request extends Abortable {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Starts with a slash; appended to the base URL. */
  readonly path: string;
  /** Query parameters; `undefined` values are omitted. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Request body, sent as JSON. */
  readonly body?: unknown;
  /** True if the request is safe to repeat. */
  readonly repeatable?: boolean;
  /** Milliseconds that the service may hold the request before it answers. */
  readonly longPollMs?: number;
}

/** Returns the sign-in token of the user. Called before each request. */
export type TokenSource = () => Promise<string> | string;

export interface TransportOptions {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: TokenSource | null;
  readonly fetch: typeof fetch;
  readonly timing: Timing;
  /** Maximum number of retries of a request. */
  readonly retries: number;
}

export interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

/** Options common to all clients of a service. */
export interface ConnectionOptions {
  /** URL of the service, for example `https://chat.example.com`; the page's own origin when absent. */
  readonly baseUrl?: string;
  /** Header fields sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Maximum number of retries of a repeatable request when the service is unreachable; 5 when absent. */
  readonly retries?: number;
  /** Clock and randomness, for tests. */
  readonly timing?: Timing;
}

/**
 * Creates the transport for these options. `headers` are the client's own and override those of the options;
 * `token` overrides `Authorization`.
 */
export function transportOf(
  { baseUrl = "", retries = 5, timing = REAL_TIMING, ...options }: ConnectionOptions,
  headers: Readonly<Record<string, string>>,
  token: TokenSource | null = null,
): Transport {
  // A missing scheme would make `fetch` fail on each retry, and `localhost:8080` would count as a scheme.
  if (!/^(?:https?:\/\/|[./]|$)/i.test(baseUrl)) {
    throw new TypeError(`baseUrl "${baseUrl}" has no scheme. Write https://… or http://… before the host.`);
  }
  return new Transport({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: { ...options.headers, ...headers },
    token,
    // A browser's `fetch` must be called as a method of `window`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timing,
    retries,
  });
}

/** Milliseconds to wait for an answer, beyond the time that the service may hold the request. */
const TIMEOUT_MS = 30_000;
const BACKOFF_MS = 500;
const BACKOFF_CEILING_MS = 8_000;
/** Maximum `Retry-After` in seconds; longer waits are reported to the caller. */
const MAX_RETRY_AFTER_SECONDS = 30;

export class Transport {
  readonly timing: Timing;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.timing = options.timing;
    this.#options = options;
  }

  /**
   * Returns the answer's JSON; `null` for 204 and 304. Throws a `ColloquyError` or the reason of the request's
   * signal.
   */
  async request<Body>(request: Request): Promise<Answer<Body> | null> {
    const { timing, retries } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#once<Body>(request);
      } catch (error) {
        if (!(error instanceof ColloquyError) || !request.repeatable || failures > retries) throw error;
        const retryAfter = error.retryAfter ?? 0;
        // A retry soon after a 429 would be refused as well, so report it.
        if (!isTransient(error) || error.status === 429 || retryAfter > MAX_RETRY_AFTER_SECONDS) throw error;
        const jitter = backoff(timing, failures, BACKOFF_MS, BACKOFF_CEILING_MS);
        await pause(timing, retryAfter * 1000 + jitter, request.signal);
      }
    }
  }

  /** Returns the answer to an unconditional request. */
  async required<Body>(request: Request): Promise<Answer<Body>> {
    const answer = await this.request<Body>(request);
    if (answer === null) throw answerInvalid("Unexpected answer 304 to an unconditional request.");
    return answer;
  }

  /** Returns the JSON of the answer to an unconditional request. */
  async body<Body>(request: Request): Promise<Body> {
    return (await this.required<Body>(request)).body;
  }

  /**
   * Opens a request without a time-out; the caller reads its body. Throws a `ColloquyError` unless it
   * succeeds.
   */
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
    const timer = timing.after(TIMEOUT_MS + (request.longPollMs ?? 0), () => abort.abort(timeout));
    try {
      const response = await this.#send(request, abort.signal);
      if (response.status === 304 || response.status === 204) return null;
      if (!response.ok) throw await errorOf(response);
      return { body: await readJson<Body>(response), headers: response.headers };
    } catch (error) {
      throw abort.signal.aborted ? abort.signal.reason : error;
    } finally {
      timer.stop();
      abort.release();
    }
  }

  /** Sends the request. Repeats it once if the service refuses its token and `token` then returns another one. */
  async #send(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    const token = await this.#token(signal);
    const response = await this.#fetch(request, token, signal);
    if (response.status !== 401 || token === null) return response;
    const next = await this.#token(signal);
    if (next === token) return response;
    await response.body?.cancel();
    return await this.#fetch(request, next, signal);
  }

  async #token(signal: AbortSignal | undefined): Promise<string | null> {
    const { token } = this.#options;
    if (token === null) return null;
    try {
      return await beforeAbort(signal, token);
    } catch (cause) {
      throw signal?.aborted ? signal.reason : tokenFailed(cause);
    }
  }

  async #fetch(request: Request, token: string | null, signal: AbortSignal | undefined): Promise<Response> {
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
          ...(token !== null && { Authorization: `Bearer ${token}` }),
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

function tokenFailed(cause: unknown): ColloquyError {
  return new ColloquyError("The application could not provide the user's token.", {
    code: "token_failed",
    cause,
  });
}

/** Returns the error for a response that is not from the service. */
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
    throw answerInvalid("The answer is not JSON: something in front of the service has answered.", cause);
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
