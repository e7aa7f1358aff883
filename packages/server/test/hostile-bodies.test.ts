// Requests at the maximum of each limit, to every operation: counts what the service builds, answers and stores.

import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { bodyLimitOf, HEAVY_VALUES, heavyBody, placesIn } from "../fuzz/heavy-bodies.ts";
import { readOperations, type Operation, type OpenApiParameter } from "../fuzz/openapi.ts";
import type { RequestParts } from "../fuzz/request-parts.ts";
import { validRequest } from "../fuzz/valid-request.ts";
import { JSON_MAX_VALUES } from "../src/http/json-text.ts";
import { HEAD_MAX_BYTES } from "../src/http/parser-errors.ts";
import { KEPT_MAX_BYTES } from "../src/http/conversation-body.ts";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { createRandom, type Random } from "../torture/harness/random.ts";
import { ADMIN_KEY, baseConfig } from "./isolation/isolation-service.ts";

const KIB = 1024;
/** Bytes of a query parameter or a header field, which leave room for the others. */
const LONG_FIELD = HEAD_MAX_BYTES - 8 * KIB;
/** Bytes of an answer: a snapshot of a session with one message of the maximum and 8 KiB of user state. */
const ANSWER_BYTES = 512 * KIB;
const PROBLEM_BYTES = 2 * KIB;
/** Of a request, on average over an operation: an accepted message with its turn, events and title. */
const ROWS = 40;
const STORED_BYTES = 256 * KIB;
/** Values that a request may need besides its own: stored sessions, answers of the model. */
const OTHER_NODES = 2_000;
/** Operations whose accepted requests are answered with an endless stream. */
const STREAMS = new Set(["/api/updates", "/api/ai-sdk/chat/{id}/stream"]);
const MOST_FINDINGS = 5;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** In queries and headers, of values that are also tried in bodies the characters matter, not the structure. */
const HEAVY_TEXTS: Readonly<Record<string, (bytes: number) => string>> = {
  arrays: HEAVY_VALUES["arrays"]!,
  names: HEAVY_VALUES["names"]!,
  "escaped quotes": HEAVY_VALUES["escaped quotes"]!,
  digits: (bytes) => "1".repeat(bytes),
  items: (bytes) => "a,".repeat(bytes / 2),
  parameters: (bytes) => 'a="b";'.repeat(bytes / 6),
};

let server: ColloquyServer;
let url = "";
let directory = "";
let operations: readonly Operation[] = [];
let nodes = 0;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-hostile-bodies-"));
  const { config, default: app } = await baseConfig();
  const tools = { ...app.tools, allowClientTools: true };
  server = await buildServer(
    {
      ...config,
      server: { ...config.server, dataDirectory: directory },
      apps: { default: { ...app, tools } },
    },
    {
      logger: SILENT,
      clock: createSystemClock(),
      isPrivate: true,
      onFatal: (error) => {
        throw error;
      },
    },
  );
  ({ url } = await server.listen());
  operations = readOperations(await (await fetch(`${url}/openapi.json`)).json());
  const { parse } = JSON;
  vi.spyOn(JSON, "parse").mockImplementation((text, reviver) => {
    const value: unknown = parse(text, reviver);
    nodes += countNodes(value);
    return value;
  });
});
afterAll(async () => {
  vi.restoreAllMocks();
  agent.destroy();
  await server.stop({ graceMs: 0 });
  await rm(directory, { recursive: true });
});

function countNodes(root: unknown): number {
  let count = 0;
  const left = [root];
  while (left.length > 0) {
    const value = left.pop();
    count += 1;
    if (typeof value === "object" && value !== null) for (const one of Object.values(value)) left.push(one);
  }
  return count;
}

interface Heavy {
  readonly name: string;
  readonly parts: RequestParts;
  /** Bytes of its longest part, which may be built. */
  readonly limit: number;
}

/** Returns all heavy requests to the operation. Each has a session of its own. */
function* heavyRequests(operation: Operation): Iterable<Heavy> {
  const { method, path } = operation;
  const begin = (name: string): [RequestParts, Random] => {
    const random = createRandom(`${method} ${path} ${name}`);
    const context = { host: new URL(url).host, sessions: [random.uuid()] };
    const parts = validRequest({ ...operation, bodyRequired: true }, context, random);
    const isAdmin = path.startsWith("/api/admin/");
    parts.headers = parts.headers.filter(([field]) => !/^(service-app-key|prefer)$/i.test(field));
    if (isAdmin) parts.headers.push(["Authorization", `Bearer ${ADMIN_KEY}`]);
    return [parts, random];
  };
  for (const place of operation.body === null ? [] : placesIn(operation)) {
    for (const kind of Object.keys(HEAVY_VALUES)) {
      const [parts, random] = begin(`${place} ${kind}`);
      const valid = JSON.parse(String(parts.body)) as object;
      parts.query = parts.query.filter(([field]) => field !== place);
      parts.body = heavyBody(operation, place, kind, valid, random);
      const limit = Math.min(KEPT_MAX_BYTES, bodyLimitOf(operation));
      yield { name: `${method} ${path}: ${place} with ${kind}`, parts, limit };
    }
  }
  for (const parameter of operation.parameters.filter((one) => one.in === "query" || one.in === "header")) {
    for (const [kind, value] of Object.entries(HEAVY_TEXTS)) {
      const [parts] = begin(`${parameter.name} ${kind}`);
      setParameter(parts, parameter, value(LONG_FIELD));
      yield { name: `${method} ${path}: ${parameter.name} with ${kind}`, parts, limit: HEAD_MAX_BYTES };
    }
  }
}

function setParameter(parts: RequestParts, parameter: OpenApiParameter, value: string): void {
  const set = (fields: [string, string][], text: string): [string, string][] => [
    ...fields.filter(([name]) => name.toLowerCase() !== parameter.name.toLowerCase()),
    [parameter.name, text],
  ];
  // Written as it is, where a URL may hold it: escaping takes three times the bytes.
  if (parameter.in === "query")
    parts.query = set(parts.query, value.replaceAll(/[%#&+]/g, encodeURIComponent));
  else parts.headers = set(parts.headers, value);
}

/** Sends a request and reads its answer, of an endless stream the head. */
function send({ method, path, query, headers, body }: RequestParts, isStream: boolean) {
  const { hostname, port } = new URL(url);
  const target = query.length === 0 ? path : `${path}?${query.map((pair) => pair.join("=")).join("&")}`;
  const length = body === null ? [] : ["Content-Length", String(body.length)];
  return new Promise<{ readonly status: number; readonly bytes: number }>((resolve, reject) => {
    const outgoing = request({
      agent,
      hostname,
      port,
      method,
      path: target,
      headers: [...headers.flat(), ...length],
    });
    outgoing.once("response", (message) => {
      const { statusCode: status = 0 } = message;
      let bytes = 0;
      const done = (): void => resolve({ status, bytes });
      message.on("data", (chunk: Buffer) => (bytes += chunk.length)).once("end", done);
      if (!isStream || status !== 200) return;
      done();
      message.destroy();
    });
    outgoing.once("error", reject).end(body ?? undefined);
  });
}

/** Counts runnable and running turns and pending jobs. They build and store values for earlier requests. */
const LEFT_TO_RUN = `SELECT (SELECT count(*) FROM turns WHERE ended_at IS NULL AND (state = 'running' OR runnable = 1)) +
  (SELECT count(*) FROM title_jobs) + (SELECT count(*) FROM summary_jobs) + (SELECT count(*) FROM search_jobs)`;

/** Counts the rows and bytes of the database after all accepted turns and their jobs have ended. */
async function stored(): Promise<{ readonly rows: number; readonly bytes: number }> {
  const database = new DatabaseSync(join(directory, "colloquy.db"), { readOnly: true });
  try {
    const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    await vi.waitFor(() => expect(one(LEFT_TO_RUN)).toBe(0), { timeout: 120_000 });
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const rows = tables.map(({ name }) => one(`SELECT count(*) FROM "${String(name)}"`));
    const bytes = one("PRAGMA page_count") * one("PRAGMA page_size");
    return { rows: rows.reduce((sum, count) => sum + count, 0), bytes };
  } finally {
    database.close();
  }
}

it("bounds what every operation builds, answers and stores for its dearest requests", async () => {
  const beyond: object[] = [];
  const statuses = new Set<number>();
  for (const operation of operations) {
    const before = await stored();
    let count = 0;
    // What is not bounded takes long.
    if (beyond.length > 0) break;
    for (const { name, parts, limit } of heavyRequests(operation)) {
      count += 1;
      nodes = 0;
      const { status, bytes } = await send(parts, STREAMS.has(operation.path));
      statuses.add(status);
      // A value takes at least two bytes: a digit and a comma.
      const most = Math.min(limit / 2, JSON_MAX_VALUES) + OTHER_NODES;
      const isBounded = nodes <= most && bytes <= (status < 400 ? ANSWER_BYTES : PROBLEM_BYTES);
      if (!isBounded || status >= 500) beyond.push({ name, status, nodes, bytes });
      if (beyond.length === MOST_FINDINGS) break;
    }
    const after = await stored();
    const { rows, bytes } = { rows: after.rows - before.rows, bytes: after.bytes - before.bytes };
    if (rows > count * ROWS || bytes > count * STORED_BYTES)
      beyond.push({ operation: `${operation.method} ${operation.path}`, count, rows, bytes });
  }
  expect(beyond).toEqual([]);
  expect(statuses).toEqual(new Set([...statuses, 200, 400, 413]));
}, 600_000);
