import { LiveSession } from "./live-session.ts";
import { operations, type Operations } from "./operations.ts";
import { randomId } from "./random-id.ts";
import { REAL_TIMING, type Timing } from "./timing.ts";
import { Transport } from "./transport.ts";

export interface ClientOptions {
  /** Where the service is, for instance `https://chat.example.com`; the page's own origin when absent. */
  readonly baseUrl?: string;
  /** The App that messages go to; `default` when absent. */
  readonly app?: string;
  /** Key of the App. Not for pages that strangers load: they could use it for anything. */
  readonly key?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What makes requests; the global `fetch` when absent. */
  readonly fetch?: typeof fetch;
  /** How often a request that can do no harm twice is tried again when the service cannot be reached; 5 when absent. */
  readonly retries?: number;
  /** Time and chance, for tests. */
  readonly timing?: Timing;
}

export interface Client extends Operations {
  /** The conversation with this id, a new one when absent. Nothing is sent until it is used. */
  session(id?: string): LiveSession;
}

/** A client of one service and one App. It holds nothing open by itself. */
export function createClient(options: ClientOptions = {}): Client {
  const { baseUrl = "", key, app, timing = REAL_TIMING, retries = 5 } = options;
  const transport = new Transport({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: { ...options.headers, ...(key !== undefined && { "SERVICE-APP-KEY": key }) },
    // A browser's fetch must be called as the window's.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timing,
    retries,
  });
  const offered = operations(transport, app);
  return { ...offered, session: (id = randomId()) => new LiveSession(id, offered, transport) };
}
