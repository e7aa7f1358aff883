// Opens a connection to an MCP server with the first protocol variant that it supports. Imports the SDK on
// demand.

import type { Client, FetchLike, Transport } from "@modelcontextprotocol/client";
import type * as Sdk from "@modelcontextprotocol/client";
import manifest from "../package.json" with { type: "json" };
import { type Clock, untilAborted } from "@colloquy/engine/tool-source";
import { boundFetch } from "./bounded-fetch.ts";
import { BoundedTransport } from "./bounded-transport.ts";
import type { McpServerSettings } from "./settings.ts";

/** Effectively disables the SDK's timeout, because signals on the service's clock end requests. */
export const NO_TIMEOUT_MS = 2_147_483_647;
/**
 * Milliseconds to wait for the version probe. Older servers may ignore it; they get the legacy handshake.
 */
const PROBE_MS = 3_000;
const RECONNECTS = { initialReconnectionDelay: 1_000, maxReconnectionDelay: 30_000 };

export interface OpenOptions {
  readonly settings: McpServerSettings;
  /** Headers with all secrets filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
  readonly onErrorLine: (line: string) => void;
}

/** A transport and a handshake to try. */
interface Variant {
  readonly transport: () => Transport;
  /** True if the server's protocol revision is probed first. */
  readonly probes: boolean;
}

/** Connects and performs the handshake. Rejects with the error of the last attempt, leaving nothing open. */
export async function openClient(options: OpenOptions): Promise<Client> {
  const sdk = await import("@modelcontextprotocol/client");
  const variants = await variantsFor(options, sdk);
  let failure: unknown = new Error("No transport of this server could be opened.");
  for (const { transport, probes } of variants) {
    const client = createClient(options, sdk, probes);
    const bounded = new BoundedTransport(transport(), options.clock);
    try {
      const { signal } = options;
      signal.throwIfAborted();
      // The SDK ignores the signal during the version probe.
      await untilAborted(client.connect(bounded, { signal, timeout: NO_TIMEOUT_MS }), signal);
      return client;
    } catch (error) {
      // Before the handshake, the client does not own its transport.
      await Promise.allSettled([client.close(), bounded.close()]);
      // A failed HTTP+SSE fallback only shows that the server does not speak the 2024 transport: keep the
      // first error.
      if (!(error instanceof sdk.SseError)) failure = error;
      if (options.signal.aborted || !shouldTryNextVariant(error, sdk)) break;
    }
  }
  throw failure;
}

function createClient({ onToolsChanged }: OpenOptions, sdk: typeof Sdk, probes: boolean): Client {
  const tools = { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged };
  return new sdk.Client(
    { name: "colloquy", version: manifest.version },
    {
      // No sampling and no elicitation, so that servers cannot send requests to users.
      capabilities: {},
      listChanged: { tools },
      versionNegotiation: probes ? { mode: "auto", probe: { timeoutMs: PROBE_MS } } : { mode: "legacy" },
    },
  );
}

/**
 * Returns the variants to try: streamable HTTP with and without the probe, and then HTTP+SSE of 2024, as the
 * protocol prescribes.
 */
async function variantsFor(options: OpenOptions, sdk: typeof Sdk): Promise<readonly Variant[]> {
  const { settings, headers, clock, onErrorLine } = options;
  if (settings.transport === "stdio") {
    const { StdioTransport } = await import("./stdio-transport.ts");
    const { command, args, env } = settings;
    const open = (): Transport =>
      new StdioTransport({ command, args, env: env.reveal(), clock, onErrorLine });
    return [{ transport: open, probes: false }];
  }
  const url = new URL(settings.url);
  const common = { fetch: boundFetch(fetch), requestInit: { headers: { ...headers } } };
  const streamable = (): Transport =>
    new sdk.StreamableHTTPClientTransport(url, {
      ...common,
      fetch: refuseOtherStreams(common.fetch),
      redirectPolicy: "same-origin",
      reconnectionOptions: { ...RECONNECTS, reconnectionDelayGrowFactor: 2, maxRetries: 5 },
      reconnectionScheduler: (reconnect, delayMs) => {
        const timer = clock.after(delayMs, reconnect);
        return () => timer.stop();
      },
    });
  const events = (): Transport =>
    new sdk.SSEClientTransport(url, { ...common, redirectPolicy: "same-origin" });
  return [
    { transport: streamable, probes: true },
    { transport: streamable, probes: false },
    { transport: events, probes: false },
  ];
}

/**
 * Replaces a GET response that is not an event stream with 405, which the protocol prescribes. The SDK would
 * take it for a stream that has ended, and would repeat the request every second.
 */
function refuseOtherStreams(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    if (init?.method !== "GET" || !response.ok || isStream) return response;
    await response.body?.cancel();
    return new Response(null, { status: 405 });
  };
}

/** Returns true if the failure may only mean that the server needs another handshake or transport. */
function shouldTryNextVariant(error: unknown, { SdkError, SdkErrorCode, SdkHttpError }: typeof Sdk): boolean {
  if (error instanceof SdkHttpError) {
    return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 403;
  }
  const codes = [
    SdkErrorCode.EraNegotiationFailed,
    SdkErrorCode.ClientHttpUnexpectedContent,
    SdkErrorCode.RequestTimeout,
  ];
  return error instanceof SdkError && codes.includes(error.code);
}
