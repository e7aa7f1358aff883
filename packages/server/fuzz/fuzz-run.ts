// Sends the requests of a seed, several at a time, and counts the outcomes.

import type { HttpClient } from "../torture/harness/http-request.ts";
import { createRandom } from "../torture/harness/random.ts";
import { Canary } from "./canary.ts";
import { exchange } from "./exchange.ts";
import { generateRequest, type GeneratedRequest } from "./generate.ts";
import { checkExchange } from "./check-exchange.ts";
import { minimise } from "./minimise.ts";
import { readOperations } from "./openapi.ts";

export interface FuzzOptions {
  readonly port: number;
  readonly client: HttpClient;
  /** Returns the server's resident memory in bytes; `null` if the system does not report it. */
  readonly residentBytes: () => number | null;
  readonly seed: string;
  readonly requests: number;
  /** Index of the only request to send, `null` for all. */
  readonly only: number | null;
  /** Maximum number of attempts to shorten a failing request. */
  readonly shortening: number;
}

export interface FuzzFailure {
  readonly index: number;
  readonly kind: string;
  readonly wrong: string;
  /** The shortest bytes with the same failure. */
  readonly bytes: Buffer;
}

export interface FuzzResult {
  readonly sent: number;
  /** Number of answers per status, or `closed` for connections closed without one. */
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly FuzzFailure[];
  /** Growth of the server's memory in bytes; `null` if the system does not report it. */
  readonly grownBytes: number | null;
}

const CONCURRENCY = 48;
/** Number of requests between two checks of the canary. */
const CANARY_EVERY = 250;
/** Number of failures that end the run. */
const MAX_FAILURES = 10;
/** Number of requests before memory is first measured. */
const WARM_UP = 1000;

export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { client, port, seed } = options;
  const random = createRandom(`${seed}/sessions`);
  const operations = readOperations(JSON.parse((await client.request("/openapi.json")).body));
  const context = { host: `127.0.0.1:${port}`, sessions: Array.from({ length: 20 }, () => random.uuid()) };
  const canary = await Canary.create(client, random.uuid());
  const counts = new Map<string, number>();
  const failures: FuzzFailure[] = [];
  const generate = (index: number) => generateRequest(seed, index, operations, context);
  let next = options.only ?? 0;
  const end = options.only === null ? options.requests : options.only + 1;
  let before: number | null = null;

  const worker = async () => {
    while (next < end && failures.length < MAX_FAILURES) {
      const index = next;
      next += 1;
      if (index === WARM_UP) before = options.residentBytes();
      const request = generate(index);
      const wrong = await attempt(request, port, counts);
      if (wrong !== null) failures.push(await describeFailure(index, request, wrong, options));
      if (index % CANARY_EVERY !== 0) continue;
      const changed = await canary.check();
      if (changed !== null) failures.push({ index, kind: "canary", wrong: changed, bytes: Buffer.alloc(0) });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const changed = await canary.check();
  if (changed !== null)
    failures.push({ index: next, kind: "canary", wrong: changed, bytes: Buffer.alloc(0) });
  const after = options.residentBytes();
  return {
    sent: [...counts.values()].reduce((sum, count) => sum + count, 0),
    counts,
    failures,
    grownBytes: before === null || after === null ? null : after - before,
  };
}

async function attempt(
  request: GeneratedRequest,
  port: number,
  counts: Map<string, number> | null,
): Promise<string | null> {
  const exchanged = await exchange({ ...request, port });
  const first = exchanged.answers[0];
  const name = first === undefined ? exchanged.end : String(first.status);
  counts?.set(name, (counts.get(name) ?? 0) + 1);
  return checkExchange(request, exchanged);
}

/** Shortens a request that also fails alone; one that fails only among others is reported unchanged. */
async function describeFailure(
  index: number,
  request: GeneratedRequest,
  wrong: string,
  { port, shortening }: FuzzOptions,
): Promise<FuzzFailure> {
  const kindOf = (text: string | null) => text?.replaceAll(/[^a-z ]/gi, "").slice(0, 25);
  const fails = async (bytes: Buffer) =>
    kindOf(await attempt({ ...request, bytes, cuts: [] }, port, null)) === kindOf(wrong);
  // Hanging requests are slow, so use fewer attempts.
  const attempts = wrong.startsWith("no answer") ? 6 : shortening;
  // A shortened valid request is no longer valid.
  const bytes =
    request.answers === 0 && (await fails(request.bytes))
      ? await minimise(request.bytes, fails, attempts)
      : request.bytes;
  return { index, kind: request.kind, wrong, bytes };
}
