// The guarded `fetch`: the only way out for requests whose address a model, a client or a third-party
// document can influence, and for requests to configured servers. For its rules, see
// docs/adr/0010-outbound-guard.md.

import type { fetch } from "undici";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { ConnectionParts } from "./connecting.ts";
import { describeFailure, OutboundError } from "./outbound-error.ts";
import { checkUrl, firstRequest, type OutboundRequest, redirected } from "./outbound-request.ts";

export interface OutboundOptions {
  /**
   * Configured origins (`https://host:port`; the rest is ignored): these may be private or this machine, and
   * may use `http` unless they are public. `false` for none. Metadata and link-local addresses are always
   * refused.
   */
  readonly allowPrivate: false | string | readonly string[];
  /** Limit of the response body in decompressed bytes. */
  readonly maxBytes: number;
  /**
   * Time limit in milliseconds from the call to the end of the body; `Infinity` for a stream that stays open.
   */
  readonly timeoutMs: number;
  /** Aborts the request and the reading of its response, with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface Outbound {
  /**
   * Like `fetch`, but guarded. Follows at most 3 redirects, each checked like the first request; across
   * origins, only headers that cannot hold a key are kept. The body is text or bytes. Proxy environment
   * variables are ignored.
   *
   * @throws OutboundError if the request is refused or fails. The body errors with one if it breaks off or is
   *   too large.
   */
  guardedFetch(url: string | URL, init: RequestInit, options: OutboundOptions): Promise<Response>;
  /** Closes all connections. */
  close(): Promise<void>;
}

export interface OutboundParts extends ConnectionParts {
  readonly clock: Pick<Clock, "after">;
}

const maximumRedirects = 3;
/** Status codes for which the constructor of `Response` accepts no body. */
const bodiless = new Set([101, 103, 204, 205, 304]);

export function createOutbound(parts: OutboundParts): Outbound {
  const connections = connectLazily(parts);

  async function guardedFetch(
    url: string | URL,
    init: RequestInit,
    options: OutboundOptions,
  ): Promise<Response> {
    let request = firstRequest(url, init);
    const configured = originsOf(options.allowPrivate);
    const watch = startWatch(parts.clock, request.url.host, init.signal ?? null, options);
    try {
      for (let hops = 0; ; hops += 1) {
        const response = await send(request, configured, watch.signal);
        const next = redirected(request, response.status, response.headers.get("location"));
        if (next === null) return receive(response, request, options.maxBytes, watch);
        // Frees the connection now instead of at the next garbage collection.
        await response.body?.cancel();
        if (hops === maximumRedirects) {
          throw new OutboundError(
            "refused",
            `The request was refused: ${request.url.host} redirects it more than ${maximumRedirects} times.`,
          );
        }
        request = next;
      }
    } catch (error) {
      watch.end();
      throw watch.signal.aborted ? watch.signal.reason : describeFailure(request.url.host, error);
    }
  }

  async function send(
    request: OutboundRequest,
    configured: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<typeof fetch>>> {
    const isConfigured = configured.has(request.url.origin);
    checkUrl(request.url, isConfigured);
    const { agents, fetchWith } = await connections.connect();
    return await fetchWith(request.url, {
      method: request.method,
      headers: [...request.headers],
      body: request.body,
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal,
      dispatcher: isConfigured ? agents.configured : agents.steered,
    });
  }

  return { guardedFetch, close: () => connections.close() };
}

/** Loads undici and creates the agents at the first request: most services make none. */
function connectLazily(parts: ConnectionParts) {
  let isClosed = false;
  let loading: ReturnType<typeof load> | null = null;
  const load = async () => {
    const [{ fetch: fetchWith }, { createAgents }] = await Promise.all([
      import("undici"),
      import("./connecting.ts"),
    ]);
    return { fetchWith, agents: createAgents(parts) };
  };
  return {
    async connect() {
      loading ??= load().catch((error: unknown) => {
        // Retry at the next request.
        loading = null;
        throw error;
      });
      const connections = await loading;
      if (isClosed) throw new Error("All connections have been ended.");
      return connections;
    },
    async close(): Promise<void> {
      isClosed = true;
      const connections = await loading?.catch(() => null);
      if (connections === undefined || connections === null) return;
      const { steered, configured } = connections.agents;
      await Promise.all([steered.destroy(), configured.destroy()]);
    },
  };
}

/** Combined timeout and abort signal of a request. */
interface Watch {
  readonly signal: AbortSignal;
  /** Stops the timer. */
  end(): void;
}

function startWatch(
  clock: Pick<Clock, "after">,
  host: string,
  callersSignal: AbortSignal | null,
  { timeoutMs, signal }: OutboundOptions,
): Watch {
  const late = new AbortController();
  const onTime = (): void =>
    late.abort(new OutboundError("timeout", `${host} did not answer within ${timeoutMs / 1_000} s.`));
  const timer = Number.isFinite(timeoutMs) ? clock.after(timeoutMs, onTime) : null;
  return {
    signal: AbortSignal.any([late.signal, signal, ...(callersSignal === null ? [] : [callersSignal])]),
    end: () => timer?.stop(),
  };
}

/**
 * Converts to a `Response` with a bounded body. Drops `Content-Encoding` and `Content-Length`: it is decoded.
 */
function receive(
  response: Awaited<ReturnType<typeof fetch>>,
  { url }: OutboundRequest,
  maxBytes: number,
  watch: Watch,
): Response {
  const headers = new Headers([...response.headers]);
  headers.delete("content-encoding");
  headers.delete("content-length");
  const init = { status: response.status, statusText: response.statusText, headers };
  if (response.body === null || bodiless.has(response.status)) {
    watch.end();
    return new Response(null, init);
  }
  const body = limitBody(response.body as ReadableStream<Uint8Array<ArrayBuffer>>, {
    maxBytes,
    tooLarge: () =>
      new OutboundError("too_large", `The answer of ${url.host} is larger than ${maxBytes} bytes.`),
    broken: (error) =>
      watch.signal.aborted ? (watch.signal.reason as Error) : describeFailure(url.host, error),
    onEnd: () => watch.end(),
  });
  return new Response(body, init);
}

function originsOf(allowPrivate: OutboundOptions["allowPrivate"]): ReadonlySet<string> {
  const listed = allowPrivate === false ? [] : [allowPrivate].flat();
  return new Set(listed.map((origin) => new URL(origin).origin));
}

/** Limits and callbacks for reading a response body. */
interface BodyRules {
  readonly maxBytes: number;
  /** Returns the error for the reader of a body that is too large. */
  tooLarge(): Error;
  /** Returns the error for the reader of a body that breaks off. */
  broken(error: unknown): Error;
  /** Called once, when the body is read, has failed or is cancelled. */
  onEnd(): void;
}

/**
 * Returns a body that errors as soon as it exceeds its limit. It counts decompressed bytes and pulls only on
 * demand, so a compression bomb cannot fill the memory.
 */
function limitBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  rules: BodyRules,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            rules.onEnd();
            controller.close();
            return;
          }
          received += value.byteLength;
          if (received <= rules.maxBytes) {
            controller.enqueue(value);
            return;
          }
        } catch (error) {
          rules.onEnd();
          controller.error(rules.broken(error));
          return;
        }
        rules.onEnd();
        controller.error(rules.tooLarge());
        // Close the connection; its error no longer matters.
        reader.cancel().catch(() => undefined);
      },
      cancel(reason) {
        rules.onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
