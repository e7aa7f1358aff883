// npm run fuzz -- --requests 20000 --answers 2000 --seed 1 [--only INDEX]
//
// Sends malformed requests to a real server over raw sockets, generated from its own OpenAPI document, with
// valid ones mixed in. Then runs conversations with a provider that answers with hostile streams. Exits with 1 if any
// answer violates the contract, a turn does not end, or a conversation cannot go on.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArguments } from "../torture/harness/arguments.ts";
import { createHttpClient } from "../torture/harness/http-request.ts";
import { findFreePort, ServerProcess } from "../torture/harness/server-process.ts";
import { type AnswersResult, runAnswers } from "./answers-run.ts";
import { runFuzz, type FuzzResult } from "./fuzz-run.ts";

/** Allowed growth of the server's memory: its snapshot budget (contract section 1) and as much again. */
const GROWTH_BYTES = 512 * 1024 * 1024;

const given = parseArguments(process.argv.slice(2), {
  requests: 20_000,
  answers: 2_000,
  seed: "1",
  only: null,
});

function describe(result: FuzzResult, seconds: number): string {
  const counts = [...result.counts].toSorted(([one], [other]) => one.localeCompare(other));
  return [
    "| answer | requests |",
    "|---|---|",
    ...counts.map(([name, count]) => `| ${name} | ${count} |`),
    `${result.sent} requests in ${seconds.toFixed(1)} s, seed ${given.seed}; the server's memory grew by ${
      result.grownBytes === null ? "an unknown amount" : `${Math.round(result.grownBytes / 2 ** 20)} MB`
    }`,
    ...result.failures.flatMap(({ index, kind, wrong, bytes }) => [
      `FAILED ${kind} (repeat: npm run fuzz -- --seed ${given.seed} --only ${index}): ${wrong}`,
      `  ${JSON.stringify(bytes.toString("latin1")).slice(0, 1500)}`,
    ]),
  ].join("\n");
}

function describeAnswers({ counts, failures }: AnswersResult, seconds: number): string {
  const ends = [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
  return [
    `hostile answers in ${seconds.toFixed(1)} s, seed ${given.seed}; first turns: ${ends}`,
    ...failures.map(
      (failure) =>
        `FAILED (repeat: npm run fuzz -- --requests 0 --seed ${given.seed} --only INDEX): ${failure}`,
    ),
  ].join("\n");
}

const only = given.only === null ? null : Number(given.only);
const hasFailed = [
  ...(given.requests > 0 ? [await fuzzRequests()] : []),
  ...(given.answers > 0 ? [await fuzzAnswers()] : []),
].includes(true);
process.exit(hasFailed ? 1 : 0);

async function fuzzAnswers(): Promise<boolean> {
  const begun = performance.now();
  const result = await runAnswers({ seed: given.seed, answers: given.answers, only });
  console.log(describeAnswers(result, (performance.now() - begun) / 1000));
  return result.failures.length > 0;
}

async function fuzzRequests(): Promise<boolean> {
  const begun = performance.now();
  const directory = mkdtempSync(join(tmpdir(), "colloquy-fuzz-"));
  const tools = { models: ["demo/assistant"], allowClientTools: true };
  writeFileSync(join(directory, "colloquy.config.json"), JSON.stringify({ apps: { default: tools } }));
  const port = await findFreePort();
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  const server = new ServerProcess({ main, directory, port });
  const client = createHttpClient(port);
  let failed = true;
  try {
    await server.ready();
    const result = await runFuzz({
      port,
      client,
      residentBytes: () => server.residentBytes(),
      seed: given.seed,
      requests: given.requests,
      only,
      shortening: 60,
    });
    console.log(describe(result, (performance.now() - begun) / 1000));
    const grown = (result.grownBytes ?? 0) > GROWTH_BYTES;
    if (grown) console.log("FAILED: the server's memory grew too much");
    if (server.crash !== null) console.log(`FAILED: the server ended by itself (${server.crash})`);
    failed = result.failures.length > 0 || grown || server.crash !== null;
  } finally {
    if (failed) console.log(server.log.join("\n"));
    client.close();
    await server.end("SIGTERM");
    rmSync(directory, { recursive: true, force: true });
  }
  return failed;
}
