// Sends the requests of a seed, several at a time, and keeps count of what comes back.

import type { HttpClient } from "../torture/harness/http-request.ts";
import { createRandom } from "../torture/harness/random.ts";
import { Canary } from "./canary.ts";
import { exchange } from "./exchange.ts";
import { generateRequest, type GeneratedRequest } from "./generate.ts";
import { judgeExchange } from "./judge-exchange.ts";
import { minimise } from "./minimise.ts";
import { readOperations } from "./openapi.ts";

export interface FuzzOptions {
  readonly port: number;
  readonly client: HttpClient;
  /** Memory that the server has now, in bytes; `null` where the system does not tell. */
  readonly residentBytes: () => number | null;
  readonly seed: string;
  readonly requests: number;
  /** The number of the one request to send, `null` for all. */
  readonly only: number | null;
  /** How often a request that failed is sent again to find a shorter one that fails. */
  readonly shortening: number;
}

export interface FuzzFailure {
  readonly index: number;
  readonly kind: string;
  readonly wrong: string;
  /** The shortest bytes that fail in the same way. */
  readonly bytes: Buffer;
}

export interface FuzzResult {
  readonly sent: number;
  /** How often each status, or `closed` for a connection that was closed without one. */
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly FuzzFailure[];
  /** By how much the server's memory grew, in bytes; `null` where the system does not tell. */
  readonly grownBytes: number | null;
}

const AT_A_TIME = 48;
/** Requests between two looks at the canary. */
const CANARY_EVERY = 250;
/** Failures after which the run ends. */
const ENOUGH_FAILURES = 10;
/** Requests that warm the server up before its memory is measured. */
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
    while (next < end && failures.length < ENOUGH_FAILURES) {
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
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
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
  return judgeExchange(request, exchanged);
}

/** Shortens a request that fails by itself too; one that only fails among others is shown as it was. */
async function describeFailure(
  index: number,
  request: GeneratedRequest,
  wrong: string,
  { port, shortening }: FuzzOptions,
): Promise<FuzzFailure> {
  const kindOf = (text: string | null) => text?.replaceAll(/[^a-z ]/gi, "").slice(0, 25);
  const fails = async (bytes: Buffer) =>
    kindOf(await attempt({ ...request, bytes, cuts: [] }, port, null)) === kindOf(wrong);
  // Requests that hang take their time, so those are tried less often.
  const attempts = wrong.startsWith("no answer") ? 6 : shortening;
  // What is left of a valid request is no valid one any more.
  const bytes =
    request.answers === 0 && (await fails(request.bytes))
      ? await minimise(request.bytes, fails, attempts)
      : request.bytes;
  return { index, kind: request.kind, wrong, bytes };
}
