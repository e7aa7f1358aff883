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
  return await doctorWith({}, ...models);
}

/** Runs the command with these settings of the provider `local`. */
async function doctorWith(settings: object, ...models: readonly string[]) {
  const compatible = { kind: "openai-compatible", apiKeyEnv: "LOCAL_KEY" };
  const providers = {
    local: { ...compatible, baseURL: server.url, ...settings },
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
  // A plain request, one with tools, one between calls, and one for JSON.
  expect(server.requests).toHaveLength(4);
});

/** Responds, but rejects requests that contain a field. */
function refusing(field: (body: Readonly<Record<string, unknown>>) => string | null) {
  server.answer = (response, request) => {
    const refused = field(request.body);
    if (refused !== null) {
      answerJson(400, { error: { message: refused, type: "invalid_request_error" } })(response, request);
      return;
    }
    writeEvents(response, [[null, { choices: [{ delta: { content: "OK" }, finish_reason: "stop" }] }]]);
    response.end();
  };
}

it.each<[string, string, string, (body: Readonly<Record<string, unknown>>) => string | null]>([
  [
    "BROKEN",
    "stream_options",
    '"streamUsage": false',
    ({ stream_options: one }) =>
      one === undefined ? null : "Extra inputs are not permitted: stream_options",
  ],
  [
    "BROKEN",
    "tool_choice",
    '"toolChoice": false',
    ({ tool_choice: one }) => (one === undefined ? null : "tool_choice is unsupported"),
  ],
  [
    "BROKEN",
    "tools",
    '"tools": false',
    ({ tools }) => (tools === undefined ? null : "gemma does not support tools"),
  ],
  [
    "WARNING",
    "reasoning_content",
    '"replayReasoning": false',
    (body) =>
      JSON.stringify(body).includes("reasoning_content")
        ? "property 'reasoning_content' is unsupported"
        : null,
  ],
  [
    "WARNING",
    "json_object for JSON answers",
    '"jsonAnswers": "json_schema"',
    ({ response_format: one }) =>
      (one as { type?: string } | undefined)?.type === "json_object"
        ? "'response_format.type' must be 'json_schema' or 'text'"
        : null,
  ],
  [
    "WARNING",
    "json_object for JSON answers",
    '"jsonAnswers": "off"',
    ({ response_format: one }) => (one === undefined ? null : "response_format is not supported with tools"),
  ],
])("reports as %s that a provider refuses %s, and the line to add", async (health, what, line, field) => {
  refusing(field);
  const { models } = await doctor("local/llama");
  expect(models[0]).toMatch(new RegExp(`^${health} `));
  expect(models[0]).toContain(`local/llama answers, but it refuses ${what}.`);
  expect(models[1]?.trim()).toBe(`Add to providers.local: ${line}`);
});

it("reports all missing settings at once", async () => {
  refusing((body) => {
    if (body["stream_options"] !== undefined) return "Unknown parameter: stream_options";
    if (body["tools"] !== undefined) return "This model does not support tools";
    return body["response_format"] === undefined ? null : "Unknown parameter: response_format";
  });
  const { models } = await doctor("local/llama");
  const lines = models[1]?.trim().replace("Add to providers.local: ", "") ?? "";
  const settings = JSON.parse(`{${lines}}`) as object;
  expect(settings).toEqual({ streamUsage: false, tools: false, jsonAnswers: "off" });
  const again = await doctorWith(settings, "local/llama");
  expect(again.models[0]).toBe("ok       model           local/llama answers.");
});

it("reports settings to remove", async () => {
  refusing(({ top_k: one }) => (one === undefined ? null : "Unknown parameter: top_k"));
  const { models } = await doctorWith({ body: { top_k: 1 } }, "local/llama");
  expect(models[0]).toContain("it refuses the fields of body.");
  expect(models[1]?.trim()).toBe("Remove from providers.local: body");
});

it("reports a template that opens the thinking tag", async () => {
  server.answer = (response) => {
    writeEvents(response, [
      [null, { choices: [{ delta: { content: "Hm.</think>OK" }, finish_reason: "stop" }] }],
    ]);
    response.end();
  };
  const { models } = await doctor("local/llama");
  expect(models[1]?.trim()).toBe('Add to providers.local: "thinkingTags": "opened"');
});

it("ignores a rejected output limit, because turns send none", async () => {
  refusing(({ max_tokens: max }) => (max === undefined ? null : "Unsupported parameter: 'max_tokens'"));
  const { models } = await doctor("local/llama");
  expect(models[0]).toBe("ok       model           local/llama answers.");
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
