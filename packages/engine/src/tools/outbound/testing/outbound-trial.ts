// Sends requests through the outbound guard to test servers, by names that the test resolves.

import { afterEach } from "vitest";
import { ManualClock } from "../../../../../server/test/manual-clock.ts";
import { addressKind } from "../address-kind.ts";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundParts } from "../outbound.ts";
import { OutboundError, type OutboundFailure } from "../outbound-error.ts";
import { createTestCertificate } from "./test-certificate.ts";
import { secondAddress, startTestServer, type TestServer } from "./test-servers.ts";

export const publicAddress = await secondAddress();
export const certificate = createTestCertificate(["public.test", "other.test", "secure.test"]);

/** DNS answers by name: successive lookups get successive answers, and the last one repeats. */
type Names = Readonly<Record<string, readonly (readonly string[])[]>>;

const DEFAULT_NAMES: Names = {
  "public.test": [[publicAddress]],
  "other.test": [[publicAddress]],
  "inside.test": [["127.0.0.1"]],
  "both.test": [[publicAddress, "127.0.0.1"]],
  "metadata.test": [["169.254.169.254"]],
  "link.test": [["fe80::1"]],
  "nat64.test": [["64:ff9b::7f00:1"]],
  "mapped.test": [["::ffff:127.0.0.1"]],
  "nowhere.test": [[]],
};

export interface OutboundTrial {
  /** The names that were resolved. */
  readonly asked: string[];
  /** Starts a server that is stopped after the test. */
  readonly start: typeof startTestServer;
  /** Starts a public https server that answers `ok` by default. */
  readonly startPublic: (answer?: Parameters<typeof startTestServer>[1]) => Promise<TestServer>;
  readonly open: (parts?: Partial<OutboundParts>, names?: Names) => Outbound;
  /** Closes the guard after the test. */
  readonly closeLater: (outbound: Outbound) => Outbound;
}

export function useOutbound(): OutboundTrial {
  const servers: TestServer[] = [];
  const outbounds: Outbound[] = [];
  const asked: string[] = [];
  afterEach(async () => {
    await Promise.all(outbounds.splice(0).map((outbound) => outbound.close()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    asked.length = 0;
  });
  const start: OutboundTrial["start"] = async (...parts) => {
    const server = await startTestServer(...parts);
    servers.push(server);
    return server;
  };
  const closeLater = (outbound: Outbound): Outbound => {
    outbounds.push(outbound);
    return outbound;
  };
  return {
    asked,
    start,
    startPublic: (answer = (_, response) => response.end("ok")) => start(publicAddress, answer, certificate),
    closeLater,
    open: (parts = {}, names = DEFAULT_NAMES) =>
      closeLater(createOutbound({ ...partsOf(names, asked), ...parts })),
  };
}

function partsOf(names: Names, asked: string[]): OutboundParts {
  const left = new Map(Object.entries(names).map(([name, answers]) => [name, [...answers]]));
  return {
    clock: new ManualClock(),
    resolve: async (hostname) => {
      asked.push(hostname);
      const answers = left.get(hostname);
      if (answers === undefined) throw Object.assign(new Error("unknown"), { code: "ENOTFOUND" });
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    },
    kindOf: (address) => (address === publicAddress ? "public" : addressKind(address)),
    certificates: [certificate.cert],
  };
}

export const limits = (of: Partial<OutboundOptions> = {}): OutboundOptions => ({
  allowPrivate: null,
  maxBytes: 1_000_000,
  timeoutMs: 30_000,
  signal: new AbortController().signal,
  ...of,
});

export function get(outbound: Outbound, url: string, of: Partial<OutboundOptions> = {}): Promise<Response> {
  return outbound.guardedFetch(url, {}, limits(of));
}

/** Returns the kind and the message of the `OutboundError` that a request failed with. */
export async function failure(request: Promise<unknown>): Promise<[OutboundFailure, string]> {
  const error = await request.then(
    () => new Error("The request was answered."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof OutboundError)) throw error;
  return [error.kind, error.message];
}
