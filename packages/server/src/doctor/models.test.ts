// `colloquy doctor --models` against a provider over a real connection.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordedRun } from "../cli/testing/recorded-run.ts";
import { loadConfig } from "../config/load-config.ts";
import { answerJson, ProviderServer, writeEvents } from "../../test/provider-server.ts";

const KEY = "a-key-that-must-not-be-shown";
let directory = "";
let server: ProviderServer;
/** Address on which nothing listens any more. */
let gone = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-models-"));
  const stopped = new ProviderServer();
  await stopped.start();
  gone = stopped.url;
  await stopped.stop();
  server = new ProviderServer();
  await server.start();
});

afterEach(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

/**
 * Runs the command with these models. The providers are `local` (this test's server), `gone` (nothing
 * listens) and `idle` (unused).
 */
async function doctor(...models: readonly string[]) {
  const compatible = { kind: "openai-compatible", apiKeyEnv: "LOCAL_KEY" };
  const providers = {
    local: { ...compatible, baseURL: server.url },
    gone: { ...compatible, baseURL: gone },
    idle: { ...compatible, baseURL: server.url },
  };
  const file = { apps: { default: { models } }, providers };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(file));
  const environment = { LOCAL_KEY: KEY };
  const { code, output } = await recordedRun(["doctor", "--models"], {
    loadConfig: () => loadConfig({ environment, workingDirectory: directory }),
  });
  const lines = output.split("\n");
  return { code, output, models: lines.slice(lines.findIndex((line) => / {2}model /.test(line))) };
}

it("reports that a model responds to a tiny request", async () => {
  server.answer = (response) => {
    writeEvents(response, [[null, { choices: [{ delta: { content: "OK" }, finish_reason: "stop" }] }]]);
    response.end();
  };
  const { code, models } = await doctor("local/llama", "demo/assistant");
  expect({ code, models }).toEqual({
    code: 0,
    models: [
      "ok       model           local/llama answers.",
      "-        model           demo/assistant needs no provider.",
      "-        model           gone is not called: no App uses a model of it.",
      "-        model           idle is not called: no App uses a model of it.",
      "",
    ],
  });
  expect(server.requests).toHaveLength(1);
});

it("reports the address, errno or status, the response, and what to check, without keys", async () => {
  const message = `Incorrect API key provided: ${KEY}.`;
  server.answer = answerJson(401, { error: { message, code: "invalid_api_key" } });
  const { code, output, models } = await doctor("local/llama", "gone/llama");
  expect(code).toBe(1);
  expect(models.slice(0, 4)).toEqual([
    `BROKEN   model           local/llama: ${server.url}/chat/completions, status 401, Incorrect API key provided: [redacted]., invalid_api_key.`,
    expect.stringMatching(/^ {27}Check the provider's API key/) as string,
    `BROKEN   model           gone/llama: ${gone}/chat/completions, ECONNREFUSED.`,
    expect.stringMatching(/^ {27}Check baseURL, that the provider runs/) as string,
  ]);
  expect(output).not.toContain(KEY);
});
