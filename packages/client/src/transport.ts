// Sends HTTP requests: headers, JSON, timeouts, errors, and retries of repeatable requests.

import { ColloquyError, errorOf, isTransient } from "./colloquy-error.ts";
import { fetchWithProgress, type UploadInit, type UploadProgress } from "./fetch-with-progress.ts";
import { beforeAbort, linkedAbort, throwIfAborted } from "./linked-abort.ts";
import { streamSlots, type StreamSlots } from "./stream-slots.ts";
import { backoff, pause, REAL_TIMING, type Timing } from "./timing.ts";

export interface Abortable {
  /** Aborts the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface Request extends Abortable {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | undefined;
  /** Starts with a slash; appended to the base URL. */
  readonly path: string;
  /** Query parameters; `undefined` values are omitted. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Request body, sent as JSON. */
  readonly body?: unknown;
  /** Raw request body, instead of `body`. */
  readonly file?: Blob | undefined;
  /** Called while the body is sent, if `fetch` supports it (`fetchWithProgress`). */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** True if the request is safe to repeat. */
  readonly repeatable?: boolean | undefined;
  /** Milliseconds that the service may hold the request before it responds. */
  readonly longPollMs?: number | undefined;
  /** True if the success status is 204. */
  readonly isResponseEmpty?: boolean | undefined;
  /** A property that the response body must have. Detects responses of captive portals and proxies. */
  readonly field?: string | undefined;
}

/** Returns the sign-in token of the user. Called before each request. */
export type TokenSource = () => Promise<string> | string;

export interface TransportOptions {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: TokenSource | null;
  /** True if event streams include the model's reasoning. */
  readonly includesReasoning: boolean;
  readonly fetch: typeof fetch;
  /** True if `fetch` is the runtime's own. */
  readonly isOwnFetch: boolean;
  readonly timing: Timing;
  readonly slots: StreamSlots;
  /** Maximum number of retries of a request. */
  readonly retries: number;
}

export interface ApiResponse<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

/** Options common to all clients. */
export interface ConnectionOptions {
  /** URL of the service, for example `https://chat.example.com`; the page's own origin when absent. */
  readonly baseUrl?: string | undefined;
  /** Header fields sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Maximum number of retries of a repeatable request when the service is unreachable; 5 when absent. */
  readonly retries?: number | undefined;
  /** Clock and randomness, for tests. */
  readonly timing?: Timing | undefined;
}

/**
 * Creates a transport. `headers` override the headers of the options; `token` overrides `Authorization`.
 */
export function transportOf(
  { baseUrl = "", retries = 5, timing = REAL_TIMING, ...options }: ConnectionOptions,
  headers: Readonly<Record<string, string>>,
  token: TokenSource | null = null,
  includesReasoning = false,
): Transport {
  // A missing scheme would make `fetch` fail on each retry, and `localhost:8080` would count as a scheme.
  if (!/^(?:https?:\/\/|[./]|$)/i.test(baseUrl)) {
    throw new TypeError(`baseUrl "${baseUrl}" has no scheme. Write https://… or http://… before the host.`);
  }
  return new Transport({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: { ...options.headers, ...headers },
    token,
    includesReasoning,
    fetch: options.fetch ?? fetchWithProgress,
    isOwnFetch: options.fetch === undefined,
    timing,
    slots: streamSlots(baseUrl, timing),
    retries,
  });
}

/** Milliseconds to wait for a response, in addition to `longPollMs`. */
const TIMEOUT_MS = 30_000;
const BACKOFF_MS = 500;
const BACKOFF_CEILING_MS = 8_000;
/** Maximum `Retry-After` in seconds; longer waits are reported to the caller. */
const MAX_RETRY_AFTER_SECONDS = 30;

export class Transport {
  readonly timing: Timing;
  /** Slots for event streams. */
  readonly slots: StreamSlots;
  /** True if event streams include the model's reasoning. */
  readonly includesReasoning: boolean;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.timing = options.timing;
    this.slots = options.slots;
    this.includesReasoning = options.includesReasoning;
    this.#options = options;
  }

  /**
   * Returns the JSON response; `null` for 204 and 304 if the request permits them. Throws a `ColloquyError` or the
   * reason of the request's signal.
   */
  async request<Body>(request: Request): Promise<ApiResponse<Body> | null> {
    const { timing, retries } = this.#options;
    for (let failures = 1; ; ) {
      try {
        return await this.#once<Body>(request);
      } catch (error) {
        if (!(error instanceof ColloquyError) || !request.repeatable || failures > retries) throw error;
        const retryAfter = error.retryAfter ?? 0;
        // An early retry after a 429 would be rejected too, so report it.
        if (!isTransient(error) || error.status === 429 || retryAfter > MAX_RETRY_AFTER_SECONDS) throw error;
        const jitter = backoff(timing, failures, BACKOFF_MS, BACKOFF_CEILING_MS);
        await this.#rest(retryAfter * 1000 + jitter, request.signal);
        // Writes wait for the network; reads use up their retries and report that it is down.
        const isWaiting = (request.method ?? "GET") !== "GET" && timing.isOffline?.() === true;
        if (!isWaiting) failures += 1;
      }
    }
  }

  /** Pauses for `ms` milliseconds, or until the network is back. */
  async #rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const resting = pause(this.timing, ms, signal);
    const ignoreWake = this.timing.onWake(() => resting.wake());
    try {
      await resting;
    } finally {
      ignoreWake();
    }
  }

  /** Returns false if the runtime's `fetch` does not support streaming (React Native). */
  canStream(): boolean {
    return !this.#options.isOwnFetch || typeof Response === "undefined" || "body" in Response.prototype;
  }

  /** Sends an unconditional request. Throws `answer_invalid` if the response is empty. */
  async required<Body>(request: Request): Promise<ApiResponse<Body>> {
    const response = await this.request<Body>(request);
    if (response === null) throw invalidResponse("The response is empty.");
    return response;
  }

  /** Returns the response body of an unconditional request. */
  async body<Body>(request: Request): Promise<Body> {
    return (await this.required<Body>(request)).body;
  }

  /**
   * Sends a request without a timeout; the caller reads the response body. Throws a `ColloquyError` unless the
   * request succeeds.
   */
  async open(request: Request): Promise<Response> {
    const response = await this.#send(request, request.signal);
    if (response.ok) return response;
    const error = await errorOf(response);
    throwIfAborted(request.signal);
    throw error;
  }

  async #once<Body>(request: Request): Promise<ApiResponse<Body> | null> {
    const { timing } = this.#options;
    const abort = linkedAbort(request.signal);
    const timeout = new ColloquyError("The service did not respond in time.", { code: "timeout" });
    const timer = timing.after(TIMEOUT_MS + (request.longPollMs ?? 0), () => abort.abort(timeout));
    try {
      const response = await this.#send(request, abort.signal);
      if (isEmpty(request, response)) return null;
      if (!response.ok) throw await errorOf(response);
      return { body: await readJson<Body>(response, request.field), headers: response.headers };
    } catch (error) {
      throwIfAborted(abort.signal);
      throw error;
    } finally {
      timer.stop();
      abort.release();
    }
  }

  /** Sends the request. Repeats it once if the service rejects the token and `token` then returns a new one. */
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
      throwIfAborted(signal);
      throw tokenFailed(cause);
    }
  }

  async #fetch(request: Request, token: string | null, signal: AbortSignal | undefined): Promise<Response> {
    const { method = "GET", path, query = {}, body, file, onProgress } = request;
    const { baseUrl, headers } = this.#options;
    throwIfAborted(signal);
    const url = `${baseUrl}${path}${queryText(query)}`;
    const init: UploadInit & { headers: Record<string, string> } = {
      method,
      headers: withoutUndefined({
        ...headers,
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...request.headers,
        ...(token !== null && { Authorization: `Bearer ${token}` }),
      }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(file !== undefined && { body: file }),
      ...(onProgress && { onProgress }),
      ...(signal && { signal }),
    };
    // Without it, a missing `fetch` would count as a network failure.
    if (this.#options.isOwnFetch && typeof fetch !== "function")
      throw new TypeError("This runtime has no `fetch`. Pass one to the client as `fetch`.");
    // Throws for invalid header values, which `fetch` would report like a network failure.
    void new Headers(init.headers);
    // Called without `this`: browsers refuse their own `fetch` as a method of another object. It never throws
    // synchronously, so such an error is a mistake of the application's `fetch`.
    const send = this.#options.fetch;
    const response = send(url, init);
    try {
      return await response;
    } catch (cause) {
      throwIfAborted(signal);
      if (cause instanceof ReferenceError) throw cause;
      throw networkFailed(cause);
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

/** Returns the error for a response that does not come from the service. */
export function invalidResponse(message: string, cause?: unknown): ColloquyError {
  return new ColloquyError(message, { code: "answer_invalid", cause });
}

/** Returns true for an expected 204 or 304. Throws for an unexpected one: captive portals send 204. */
function isEmpty(request: Request, { status }: Response): boolean {
  if (status !== 204 && status !== 304) return false;
  const isExpected =
    status === 204 ? request.isResponseEmpty : request.headers?.["If-None-Match"] !== undefined;
  if (!isExpected)
    throw invalidResponse(`Unexpected status ${status}: the response comes from a proxy or captive portal.`);
  return true;
}

async function readJson<Body>(response: Response, field: string | undefined): Promise<Body> {
  const text = await response.text().catch((cause: unknown) => {
    throw networkFailed(cause);
  });
  const hint = "it probably comes from a proxy or captive portal.";
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw invalidResponse(`The response is not JSON: ${hint}`, cause);
  }
  if (typeof body !== "object" || body === null || (field !== undefined && !(field in body)))
    throw invalidResponse(`The response lacks a required property: ${hint}`);
  return body as Body;
}

/** Returns the cursor of the next page from the header `Link` (RFC 8288); `null` on the last page. */
export function nextCursor({ headers }: ApiResponse<unknown>): string | null {
  const next = /[?&]cursor=([^&>]+)[^>]*>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return next === undefined ? null : decodeURIComponent(next);
}

/** Avoids `URLSearchParams`, which React Native implements only partially. */
function queryText(query: NonNullable<Request["query"]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function withoutUndefined(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
