// A connection to an MCP server, in the first way that the server understands. The SDK is imported when the first one is opened.

import type { Client, Transport } from "@modelcontextprotocol/client";
import type * as Sdk from "@modelcontextprotocol/client";
import type { McpServerSettings } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { boundFetch } from "./bounded-fetch.ts";
import { BoundedTransport } from "./bounded-transport.ts";

/** Longer than anything lasts here: what a request waits for is said by its signal, on the service's clock. */
export const NO_TIMEOUT_MS = 2_147_483_647;
/** A server that knows nothing of the question may not answer it; it is then spoken to as before there was one. */
const PROBE_MS = 3_000;
const RECONNECTS = { initialReconnectionDelay: 1_000, maxReconnectionDelay: 30_000 };

export interface OpenOptions {
  readonly settings: McpServerSettings;
  /** With every secret filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
  readonly onErrorLine: (line: string) => void;
}

/** One way to speak to a server. */
interface Way {
  readonly transport: () => Transport;
  /** Whether to ask first which revision of the protocol the server speaks. */
  readonly asks: boolean;
}

/** Connects and shakes hands. Rejects with what the last way has failed on; nothing is left open then. */
export async function openClient(options: OpenOptions): Promise<Client> {
  const sdk = await import("@modelcontextprotocol/client");
  const ways = await waysTo(options, sdk);
  let failure: unknown = new Error("There is no way to this server.");
  for (const { transport, asks } of ways) {
    const client = createClient(options, sdk, asks);
    const bounded = new BoundedTransport(transport(), options.clock);
    try {
      await connect(client, bounded, options.signal);
      return client;
    } catch (error) {
      // Before the handshake the client does not know the transport that it was given.
      await Promise.allSettled([client.close(), bounded.close()]);
      failure = error;
      if (options.signal.aborted || !speaksOtherwise(error, sdk)) break;
    }
  }
  throw failure;
}

/** As `client.connect`, which does not listen to its signal while it asks for the revision. */
async function connect(client: Client, transport: Transport, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function createClient({ onToolsChanged }: OpenOptions, sdk: typeof Sdk, asks: boolean): Client {
  const tools = { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged };
  return new sdk.Client(
    { name: "colloquy", version: "0.1.0" },
    {
      // Neither sampling nor elicitation: a server asks nothing of whoever uses this service.
      capabilities: {},
      listChanged: { tools },
      versionNegotiation: asks ? { mode: "auto", probe: { timeoutMs: PROBE_MS } } : { mode: "legacy" },
    },
  );
}

/** Streamable HTTP, asking first and then as the revisions before did; at last the transport of 2024, as the protocol prescribes. */
async function waysTo(options: OpenOptions, sdk: typeof Sdk): Promise<readonly Way[]> {
  const { settings, headers, clock, onErrorLine } = options;
  if (settings.transport === "stdio") {
    const { StdioTransport } = await import("./stdio-transport.ts");
    const { command, args, env } = settings;
    const open = (): Transport =>
      new StdioTransport({ command, args, env: env.reveal(), clock, onErrorLine });
    return [{ transport: open, asks: false }];
  }
  const url = new URL(settings.url);
  const common = { fetch: boundFetch(fetch), requestInit: { headers: { ...headers } } };
  const streamable = (): Transport =>
    new sdk.StreamableHTTPClientTransport(url, {
      ...common,
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
    { transport: streamable, asks: true },
    { transport: streamable, asks: false },
    { transport: events, asks: false },
  ];
}

/** Whether a failure may only mean that the server expects to be spoken to in another way. */
function speaksOtherwise(error: unknown, { SdkError, SdkErrorCode, SdkHttpError }: typeof Sdk): boolean {
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
