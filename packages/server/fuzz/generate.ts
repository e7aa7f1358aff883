// Generates the bytes of a request from a seed and an index: always the same, independent of earlier ones.

import { createRandom, type Random } from "../torture/harness/random.ts";
import { HEAVY_VALUES, heavyBody, placesIn } from "./heavy-bodies.ts";
import { hostileBytes } from "./hostile-values.ts";
import { mutate } from "./mutate-request.ts";
import type { Operation } from "./openapi.ts";
import { serialise } from "./request-parts.ts";
import { validRequest, type RequestContext } from "./valid-request.ts";

/** Paths whose responses are streams, which another request on the connection would wait for. */
const STREAMS: ReadonlySet<string> = new Set([
  "/api/updates",
  "/api/ag-ui",
  "/v1/agent/chat/{id}/stream",
  "/api/ai-sdk/chat",
  "/api/ai-sdk/chat/{id}/stream",
]);

export type RequestKind = "valid" | "mutated" | "heavy" | "damaged" | "garbage" | "pipelined";

export interface GeneratedRequest {
  readonly kind: RequestKind;
  readonly bytes: Buffer;
  /** Offsets at which the bytes are split into packets, sent one by one. */
  readonly cuts: readonly number[];
  /** Number of expected answers; 0 if unknown. */
  readonly answers: number;
  /** Index of the answer to a HEAD, which has no body; -1 for none. */
  readonly bodiless: number;
  /** True if the client half-closes right after the last byte. */
  readonly breaksOff: boolean;
}

/** Generates request number `index` of a run with this seed. */
export function generateRequest(
  seed: string,
  index: number,
  operations: readonly Operation[],
  context: RequestContext,
): GeneratedRequest {
  const random = createRandom(`${seed}/${index}`);
  const drawn = random.next();
  if (drawn < 0.2) return request("valid", valid(operations, context, random), 1, random);
  if (drawn < 0.71) return request("mutated", mutated(operations, context, random), 0, random);
  if (drawn < 0.72) return request("heavy", heavy(operations, context, random), 0, random);
  if (drawn < 0.86) {
    return request("damaged", damage(valid(operations, context, random), random), 0, random);
  }
  if (drawn < 0.92) return request("garbage", garbage(random), 0, random);
  const count = random.integer(2, 5);
  const several = Array.from({ length: count }, () => valid(operations, context, random, true));
  if (random.chance(0.3)) {
    const last = mutated(operations, context, random);
    const bodiless = isHead(last) ? count : -1;
    return request("pipelined", Buffer.concat([...several, last]), 0, random, bodiless);
  }
  return request("pipelined", Buffer.concat(several), count, random);
}

function isHead(bytes: Buffer): boolean {
  return /^\s*HEAD\s/.test(bytes.toString("latin1", 0, 10));
}

function request(
  kind: RequestKind,
  bytes: Buffer,
  answers: number,
  random: Random,
  bodiless = isHead(bytes) ? 0 : -1,
): GeneratedRequest {
  const cuts = random.chance(0.15) ? [random.integer(0, bytes.length), random.integer(0, bytes.length)] : [];
  return {
    kind,
    bytes,
    cuts: cuts.toSorted((one, other) => one - other),
    answers,
    bodiless,
    breaksOff: answers === 0 && random.chance(0.5),
  };
}

/** Generates a valid request. `finite` excludes streams, after which no further response can arrive. */
function valid(
  operations: readonly Operation[],
  context: RequestContext,
  random: Random,
  finite = false,
): Buffer {
  const among = finite ? operations.filter(({ path }) => !STREAMS.has(path)) : operations;
  return serialise(validRequest(random.pick(among.filter(isWhollyDescribed)), context, random));
}

function mutated(operations: readonly Operation[], context: RequestContext, random: Random): Buffer {
  const parts = validRequest(random.pick(operations), context, random);
  mutate(parts, random);
  return serialise(parts);
}

/** Generates a body at the maximum of its limit. */
function heavy(operations: readonly Operation[], context: RequestContext, random: Random): Buffer {
  const takers = operations.filter(({ body }) => body !== null);
  if (takers.length === 0) return mutated(operations, context, random);
  const operation = random.pick(takers);
  const place = random.pick(placesIn(operation));
  const parts = validRequest({ ...operation, bodyRequired: true }, context, random);
  parts.query = parts.query.filter(([name]) => name !== place);
  const valid = JSON.parse(String(parts.body)) as object;
  parts.body = heavyBody(operation, place, random.pick(Object.keys(HEAVY_VALUES)), valid, random);
  return serialise(parts);
}

/** Changes, adds, removes or duplicates bytes, or cuts off the end. */
function damage(bytes: Buffer, random: Random): Buffer {
  let damaged = bytes;
  for (let count = random.integer(1, 6); count > 0; count -= 1) {
    const from = random.integer(0, damaged.length);
    const to = random.integer(from, damaged.length);
    const [before, middle, after] = [
      damaged.subarray(0, from),
      damaged.subarray(from, to),
      damaged.subarray(to),
    ];
    const kind = random.integer(0, 5);
    if (kind === 0)
      damaged = Buffer.concat([before, Buffer.from([random.integer(0, 255)]), damaged.subarray(from)]);
    else if (kind === 1) damaged = Buffer.concat([before, damaged.subarray(from + random.integer(1, 4))]);
    else if (kind === 2) damaged = Buffer.concat([before, middle, middle, after]).subarray(0, 200_000);
    else if (kind === 3 && random.chance(0.5)) damaged = before;
    else if (kind === 4) damaged = Buffer.concat([before, hostileBytes(random), after]);
    else if (from < damaged.length) {
      damaged = Buffer.from(damaged);
      damaged[from] = (damaged[from] ?? 0) ^ (1 << random.integer(0, 7));
    }
  }
  return damaged;
}

const GARBAGE: readonly string[] = [
  "",
  "\r\n",
  "\r\n\r\n\r\n\r\n",
  "\n",
  "GET\r\n\r\n",
  "GET /\r\n\r\n",
  "GET / HTTP/1.1",
  "GET / HTTP/1.1\r\n",
  "GET  /  HTTP/1.1\r\nHost: x\r\n\r\n",
  "GET /\tapi HTTP/1.1\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "\x04\x01\x00P\x7f\x00\x00\x01\x00",
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
  "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
  "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
  "GET /healthz HTTP/1.1\nHost: localhost\n\n",
  "\0\0\0\0\0\0\0\0",
];

function garbage(random: Random): Buffer {
  if (random.chance(0.5)) return Buffer.from(random.pick(GARBAGE), "latin1");
  return Buffer.concat(Array.from({ length: random.integer(1, 5) }, () => hostileBytes(random)));
}

/**
 * Returns false if bodies cannot be generated from the document: their field names come from the configuration
 * (secret slots), or the document does not describe ids and bodies (OpenAI API). Such requests are only mutated.
 */
function isWhollyDescribed({ path, body }: Operation): boolean {
  if (path.startsWith("/v1/")) return false;
  return body === null || Object.keys(body.properties ?? {}).length > 0;
}
