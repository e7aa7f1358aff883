// The guarded `fetch`: the only way to send requests whose address a model, a client or a third-party
// document can influence, and requests to configured servers. For its rules, see
// docs/adr/0010-outbound-guard.md.

import type { fetch } from "undici";
import { acceptEncodings, boundBody, decodedHeaders } from "../../core/bounded-body.ts";
import { loadOnce } from "../../core/load-once.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Agents, ConnectionParts } from "./connecting.ts";
import { describeFailure, OutboundError } from "./outbound-error.ts";
import {
  checkUrl,
  firstRequest,
  type OutboundInit,
  type OutboundRequest,
  redirected,
} from "./outbound-request.ts";

export interface OutboundOptions {
  /**
   * A URL with the configured origin, which may be private or this machine, and may use `http` unless it is
   * public; `null` for none. Metadata and link-local addresses are always refused.
   */
  readonly allowPrivate: string | null;
  /** Limit of the response body in decompressed bytes. */
  readonly maxBytes: number;
  /** Time limit in milliseconds from the call to the end of the body. */
  readonly timeoutMs: number;
  /** Aborts the request and the reading of its response, with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface Outbound {
  /**
   * Like `fetch`, but guarded. Follows at most 3 redirects, each checked like the first request; across
   * origins, only headers that cannot hold a key are kept.
   *
   * @throws OutboundError if the request is refused or fails. The body errors with one if it breaks off or is
   *   too large.
   */
  guardedFetch(url: string | URL, init: OutboundInit, options: OutboundOptions): Promise<Response>;
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
  const { connect, close } = connectLazily(parts);

  async function guardedFetch(
    url: string | URL,
    init: OutboundInit,
    options: OutboundOptions,
  ): Promise<Response> {
    let request = firstRequest(url, init);
    const configured = options.allowPrivate === null ? null : new URL(options.allowPrivate).origin;
    const watch = startWatch(parts.clock, request.url.host, options);
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
    configured: string | null,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<typeof fetch>>> {
    const isConfigured = request.url.origin === configured;
    checkUrl(request.url, isConfigured);
    const { agents, fetchWith } = await connect();
    return await fetchWith(request.url, {
      method: request.method,
      headers: [...acceptEncodings(request.headers)],
      body: request.body,
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal,
      dispatcher: isConfigured ? agents.configured : agents.publicOnly,
    });
  }

  return { guardedFetch, close };
}

/** Loads undici and creates the agents at the first request, because most services make none. */
function connectLazily(parts: ConnectionParts) {
  let agents = null as Agents | null;
  let isClosed = false;
  const load = loadOnce(async () => {
    const [{ fetch: fetchWith }, { createAgents }] = await Promise.all([
      import("undici"),
      import("./connecting.ts"),
    ]);
    agents = createAgents(parts);
    return { fetchWith, agents };
  });
  return {
    connect: async () => {
      const loaded = await load();
      if (isClosed) throw new Error("All connections have been ended.");
      return loaded;
    },
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.all([agents?.publicOnly.destroy(), agents?.configured.destroy()]);
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
  { timeoutMs, signal }: OutboundOptions,
): Watch {
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () =>
    late.abort(new OutboundError("timeout", `${host} did not answer within ${timeoutMs / 1_000} s.`)),
  );
  return { signal: AbortSignal.any([late.signal, signal]), end: () => timer.stop() };
}

/** Returns the response with a body that ends the watch, and fails beyond its limit. */
function receive(
  response: Awaited<ReturnType<typeof fetch>>,
  { url: { host } }: OutboundRequest,
  maxBytes: number,
  watch: Watch,
): Response {
  const body = response.body as ReadableStream<Uint8Array<ArrayBuffer>> | null;
  const bounded = boundBody(
    { body: bodiless.has(response.status) ? null : body, headers: response.headers },
    {
      maxBytes,
      tooLarge: () =>
        new OutboundError("too_large", `The answer of ${host} is larger than ${maxBytes} bytes.`),
      failed: (error) => (watch.signal.aborted ? watch.signal.reason : describeFailure(host, error)),
      ended: () => watch.end(),
    },
  );
  const { status, statusText } = response;
  return new Response(bounded, { status, statusText, headers: decodedHeaders([...response.headers]) });
}
