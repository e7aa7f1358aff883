// Commands run in real shells with a function in place of curl that prints its arguments; one runs curl
// itself.

import { execFile, execFileSync } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWithout } from "../../../server/test/programs.ts";
import { curlOf } from "./curl.ts";
import { withoutSecrets, type RecordedCall } from "./recorded-request.ts";

const URL_OF_CHAT = "http://127.0.0.1:8080/api/chat";
const ODD = `it's "odd" $HOME \`id\` $(id) \\ !! ! # & ; | > < * ? ~ [a-b] {1,2}\n\tsecond line\r\n é 日本 🙂 @file %0A`;

/** Returns the arguments that a shell passes to curl. */
function argumentsIn(shell: string, command: string, environment: Record<string, string> = {}): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  const output = execFileSync(shell, ["-c", script], { env: { HOME: "/nowhere", ...environment } });
  return output.toString("utf8").split("\0").slice(0, -1);
}

const call = (changes: Partial<RecordedCall> = {}): RecordedCall => ({
  method: "POST",
  url: URL_OF_CHAT,
  headers: [{ name: "Content-Type", value: "application/json", variable: null }],
  body: JSON.stringify({ message: ODD }),
  ...changes,
});

describe.each(["sh", "bash"])("the command in %s", (shell) => {
  it("passes what was sent, whatever it contains", () => {
    expect(argumentsIn(shell, curlOf(call()))).toEqual([
      "-X",
      "POST",
      URL_OF_CHAT,
      "-H",
      "Content-Type: application/json",
      "--data-raw",
      JSON.stringify({ message: ODD }),
    ]);
  });

  it("inserts a key from a variable, and from nothing else", () => {
    const command = curlOf(
      withoutSecrets({
        ...call(),
        headers: [
          ["SERVICE-APP-KEY", "clq_secret"],
          ["Authorization", "Bearer operator-secret"],
        ],
      }),
    );
    expect(command).not.toContain("secret");
    const given = argumentsIn(shell, command, { COLLOQUY_APP_KEY: `a'"b$c`, COLLOQUY_ADMIN_KEY: "op" });
    expect(given).toContain(`SERVICE-APP-KEY: a'"b$c`);
    expect(given).toContain("Authorization: Bearer op");
  });
});

it("passes any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const body = text.replaceAll("\0", "");
      expect(argumentsIn("sh", curlOf(call({ body }))).at(-1)).toBe(body);
    }),
    { numRuns: 50 },
  );
});

it("survives history expansion of interactive shells", () => {
  const given = execFileSync("bash", ["--norc", "-i"], {
    input: `set -H\ncurl() { printf '%s\\0' "$@"; }\n${curlOf(call({ body: `{"message":"don't! !! !x"}` }))}\nexit\n`,
    env: { HOME: "/nowhere", PATH: process.env["PATH"] ?? "", PS1: "", PS2: "", HISTFILE: "" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  expect(given.toString("utf8").split("\0")).toContain(`{"message":"don't! !! !x"}`);
});

it("reads a stream unbuffered, and names no method for GET", () => {
  const headers = [{ name: "Accept", value: "text/event-stream", variable: null }];
  expect(curlOf(call({ method: "GET", headers, body: null }))).toBe(
    `curl -N ${URL_OF_CHAT} \\\n  -H 'Accept: text/event-stream'`,
  );
});

it("prevents URL globbing, dropping of empty headers, and waiting for a body after HEAD", () => {
  expect(curlOf(call({ url: "http://[::1]:8080/", body: null, headers: [] }))).toContain("--globoff");
  expect(curlOf(call({ headers: [{ name: "X-Empty", value: "", variable: null }] }))).toContain("'X-Empty;'");
  expect(curlOf(call({ method: "HEAD", body: null, headers: [] }))).toBe(`curl --head ${URL_OF_CHAT}`);
});

it.skipIf(await isWithout("curl"))("makes curl send the same request", async () => {
  const received = Promise.withResolvers<{ request: IncomingMessage; body: string }>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.end("{}");
      received.resolve({ request, body: Buffer.concat(chunks).toString("utf8") });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const sent = call({
    url: `http://127.0.0.1:${port}/api/sessions/a%5Bb?x=%7B1%7D&y=a+b`,
    headers: [
      { name: "Content-Type", value: "application/json", variable: null },
      { name: "X-Empty", value: "", variable: null },
    ],
    body: `@${ODD}`,
  });
  await promisify(execFile)("sh", ["-c", curlOf(sent)]);
  const { request, body } = await received.promise;
  server.close();
  expect(request.method).toBe("POST");
  expect(request.url).toBe("/api/sessions/a%5Bb?x=%7B1%7D&y=a+b");
  expect(request.headers).toMatchObject({ "content-type": "application/json", "x-empty": "" });
  expect(body).toBe(sent.body);
});
