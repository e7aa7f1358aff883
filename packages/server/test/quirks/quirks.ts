// Malformed and unusual provider responses as raw bytes, with the expected result. Add a row for each report.
// `npm run quirks` starts a provider with one model per row, under the row's name.

import { brotliCompressSync, gzipSync } from "node:zlib";

/** What the server does with the connection after the last piece. */
export type After = "end" | "hold" | "reset";

export interface Quirk {
  readonly name: string;
  /** Public report, as `owner/repository#number`. */
  readonly report?: string;
  /** Pieces of the response body, written and flushed one by one. */
  readonly pieces: readonly (string | Buffer)[];
  readonly after?: After;
  /** Text to write repeatedly after the pieces, until the client disconnects. */
  readonly forever?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

export interface Expected {
  readonly text?: string;
  readonly reasoning?: string;
  /** Names and arguments of the tool calls. */
  readonly calls?: readonly (readonly [name: string, input: unknown])[];
  readonly outputTokens?: number;
  /** Failure code; absent if the response is complete. */
  readonly code?: string;
  readonly retryable?: boolean;
  /** Expected part of the user-facing message. */
  readonly says?: string;
  /** Expected part of the logged failure details. */
  readonly facts?: RegExp;
}

const DONE = "data: [DONE]\n\n";

function data(value: unknown, end = "\n\n"): string {
  return `data: ${JSON.stringify(value)}${end}`;
}

function delta(value: unknown, finish: unknown = null, more: object = {}): string {
  return data({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "quirk",
    choices: [{ index: 0, delta: value, finish_reason: finish }],
    ...more,
  });
}

const say = (content: unknown): string => delta({ role: "assistant", content });
const finish = (reason: unknown = "stop"): string => delta({}, reason);
const usage = data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } });
const calls = (...all: readonly object[]): string => delta({ tool_calls: all });
const error = (value: unknown): string => data({ error: value });
const cutBytes = (text: string, at: number): Buffer[] => {
  const bytes = Buffer.from(text);
  return [bytes.subarray(0, at), bytes.subarray(at)];
};

/** Strips the `data: ` field name from an event. */
const bare = (event: string): string => event.slice("data: ".length);

const HELLO: Expected = { text: "Hello" };
const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "content-type": "text/html" };
const WEATHER: Expected = { calls: [["weather", { city: "Bern" }]] };
const TWO: Expected = {
  calls: [
    ["weather", { city: "Bern" }],
    ["weather", { city: "Rome" }],
  ],
};
/** A call named after a property of `Object.prototype`. */
const PROTOTYPE: Expected = { calls: [["constructor", { city: "Bern" }]] };
const BERN = '{"city":"Bern"}';
const ROME = '{"city":"Rome"}';
const broken = (code: string, retryable: boolean, facts?: RegExp): Expected => ({
  code,
  retryable,
  ...(facts !== undefined && { facts }),
});

/** Responses of the Chat Completions API. */
export const CHAT_QUIRKS: readonly Quirk[] = [
  // End of the response.
  {
    name: "plain",
    pieces: [say("Hel"), say("lo"), finish(), usage, DONE],
    expected: { ...HELLO, outputTokens: 5 },
  },
  { name: "done-and-held", pieces: [say("Hello"), finish(), DONE], after: "hold", expected: HELLO },
  { name: "done-and-reset", pieces: [say("Hello"), finish(), DONE], after: "reset", expected: HELLO },
  {
    name: "finish-and-held",
    report: "musistudio/claude-code-router#1271",
    pieces: [say("Hello"), finish()],
    after: "hold",
    expected: HELLO,
  },
  { name: "finish-and-reset", pieces: [say("Hello"), finish()], after: "reset", expected: HELLO },
  { name: "finish-and-end", pieces: [say("Hello"), finish()], expected: HELLO },
  {
    name: "finish-and-comments",
    pieces: [say("Hello"), finish()],
    forever: ": keep-alive\n\n",
    expected: HELLO,
  },
  {
    name: "usage-and-held",
    pieces: [say("Hello"), `${finish()}${usage}`],
    after: "hold",
    expected: { ...HELLO, outputTokens: 5 },
  },
  { name: "done-without-finish", pieces: [say("Hello"), DONE], expected: HELLO },
  {
    name: "done-without-finish-after-call",
    pieces: [calls({ index: 0, id: "a", function: { name: "weather", arguments: BERN } }), DONE],
    expected: WEATHER,
  },
  { name: "done-alone", pieces: [DONE], expected: broken("model_unavailable", true) },
  {
    name: "done-with-blanks",
    pieces: [say("Hello"), finish(), "data:   [DONE]  \n\n"],
    after: "hold",
    expected: HELLO,
  },
  { name: "done-without-newline", pieces: [say("Hello"), "data: [DONE]"], expected: HELLO },
  {
    name: "done-after-error",
    pieces: [error({ message: "Overloaded", type: "overloaded_error" }), DONE],
    expected: broken("model_unavailable", true, /Overloaded/),
  },
  {
    name: "end-without-finish",
    pieces: [say("Hello")],
    expected: { text: "Hello", ...broken("model_unavailable", true, /cut/) },
  },
  {
    name: "reset-without-finish",
    pieces: [say("Hello")],
    after: "reset",
    expected: { text: "Hello", ...broken("model_unavailable", true) },
  },
  {
    name: "empty-finish",
    pieces: [delta({ content: "Hello" }, ""), delta({}, ""), finish(), DONE],
    expected: HELLO,
  },
  { name: "finish-eos", pieces: [say("Hello"), finish("eos"), DONE], expected: HELLO },
  { name: "finish-unknown", pieces: [say("Hello"), finish("weird"), DONE], expected: HELLO },
  { name: "finish-number", pieces: [say("Hello"), finish(1), DONE], expected: HELLO },
  {
    name: "finish-in-every-chunk",
    pieces: [delta({ content: "Hel" }, "stop"), delta({ content: "lo" }, "stop"), DONE],
    expected: HELLO,
  },
  { name: "content-after-finish", pieces: [say("Hel"), finish(), say("lo"), DONE], expected: HELLO },
  {
    name: "error-after-finish",
    pieces: [say("Hello"), finish(), error({ message: "late" })],
    expected: HELLO,
  },
  {
    name: "junk-after-done",
    pieces: [say("Hello"), finish(), DONE, "<html>", "data: {\n\n"],
    expected: HELLO,
  },

  {
    name: "usage-and-end",
    report: "anomalyco/opencode#43379",
    pieces: [data({ choices: [] }), say("Hello"), usage, data({ choices: [], cost: "0" })],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "usage-and-reset",
    pieces: [say("Hello"), usage],
    after: "reset",
    expected: { text: "Hello", ...broken("model_unavailable", true) },
  },

  // Server-sent event syntax.
  {
    name: "crlf",
    pieces: [
      say("Hello").replaceAll("\n", "\r\n"),
      finish().replaceAll("\n", "\r\n"),
      "data: [DONE]\r\n\r\n",
    ],
    expected: HELLO,
  },
  {
    name: "cr",
    pieces: [say("Hello").replaceAll("\n", "\r"), finish().replaceAll("\n", "\r"), "data: [DONE]\r\r"],
    expected: HELLO,
  },
  {
    name: "no-space",
    pieces: [say("Hello").replace(": ", ":"), finish().replace(": ", ":"), "data:[DONE]\n\n"],
    after: "hold",
    expected: HELLO,
  },
  {
    name: "multi-line-data",
    pieces: [
      'data: {"choices":\ndata: [{"delta":{"content":"Hello"},\ndata: "finish_reason":"stop"}]}\n\n',
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "single-newlines",
    pieces: [say("Hel").slice(0, -1), say("lo").slice(0, -1), finish().slice(0, -1), "data: [DONE]\n"],
    expected: HELLO,
  },
  {
    name: "bare-finish",
    report: "gpustack/gpustack#6155",
    pieces: [say("Hello"), bare(finish("length")), usage, DONE],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "bare-content",
    pieces: [say("Hel"), bare(say("lo")), bare(finish()), usage, DONE],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "cut-utf8",
    pieces: [
      ...cutBytes(say("Grüße 👋"), Buffer.byteLength(say("Grüße 👋")) - 50),
      ...cutBytes(finish(), 3),
      DONE,
    ],
    expected: { text: "Grüße 👋" },
  },
  {
    name: "one-byte-at-a-time",
    pieces: Array.from(Buffer.from(`${say("é👋")}${finish()}${DONE}`), (byte) => Buffer.from([byte])),
    expected: { text: "é👋" },
  },
  { name: "byte-order-mark", pieces: [`\u{feff}${say("Hello")}`, finish(), DONE], expected: HELLO },
  {
    name: "comments-first",
    pieces: [": OPENROUTER PROCESSING\n\n", ":\n\n", say("Hello"), finish(), DONE],
    expected: HELLO,
  },
  {
    name: "blank-data",
    pieces: ["data:\n\n", "data: \n\n", "\n\n", say("Hello"), finish(), DONE],
    expected: HELLO,
  },
  {
    name: "named-events",
    pieces: [
      `event: ping\ndata: keep\n\n`,
      `id: 1\nevent: message\nretry: 5\n${say("Hello")}`,
      finish(),
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "wrong-content-type",
    pieces: [say("Hello"), finish(), DONE],
    headers: { "content-type": "text/plain" },
    expected: HELLO,
  },
  { name: "no-content-type", pieces: [say("Hello"), finish(), DONE], headers: {}, expected: HELLO },
  {
    name: "gzip",
    pieces: [gzipSync(`${say("Hello")}${finish()}${DONE}`)],
    headers: { "content-type": "text/event-stream", "content-encoding": "gzip" },
    expected: HELLO,
  },
  {
    name: "brotli",
    pieces: [brotliCompressSync(`${say("Hello")}${finish()}${DONE}`)],
    headers: { "content-type": "text/event-stream", "content-encoding": "br" },
    expected: HELLO,
  },
  { name: "status-201", status: 201, pieces: [say("Hello"), finish(), DONE], expected: HELLO },
  {
    name: "huge-line",
    pieces: [say("a".repeat(1_000_000)), finish(), DONE],
    expected: { text: "a".repeat(1_000_000) },
  },
  {
    name: "endless-line",
    pieces: ["data: "],
    forever: "a".repeat(65_536),
    expected: broken("model_error", true, /unreadable/),
  },

  // Empty chunks and unusual fields.
  {
    name: "empty-chunks",
    report: "earendil-works/pi#2466",
    pieces: [
      data({ choices: null }),
      data({ type: "ping" }),
      data({}),
      data(null),
      data([]),
      data(7),
      data("x"),
      data({ choices: [] }),
      data({ choices: [{}] }),
      data({ choices: [{ delta: null }] }),
      say("Hello"),
      finish(),
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "unknown-fields",
    pieces: [
      delta({ role: "model", content: "Hello", extra: [1] }, null, {
        id: 7,
        created: "now",
        model: 3,
        system_fingerprint: null,
        error: null,
      }),
      finish(),
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "prompt-filter-first",
    pieces: [
      data({
        choices: [],
        created: 0,
        id: "",
        model: "",
        object: "",
        prompt_filter_results: [{ prompt_index: 0 }],
      }),
      say("Hello"),
      finish(),
      DONE,
    ],
    expected: HELLO,
  },
  { name: "content-null", pieces: [say(null), say(""), say("Hello"), finish(), DONE], expected: HELLO },
  {
    name: "content-parts",
    pieces: [say([{ type: "text", text: "Hel" }, "lo", null, { type: "image" }]), finish(), DONE],
    expected: HELLO,
  },
  { name: "content-object", pieces: [say({ type: "text", text: "Hello" }), finish(), DONE], expected: HELLO },
  {
    name: "message-for-delta",
    pieces: [
      data({ choices: [{ message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }] }),
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "text-for-delta",
    pieces: [data({ choices: [{ text: "Hello", finish_reason: "stop" }] }), DONE],
    expected: HELLO,
  },
  {
    name: "array-of-chunks",
    pieces: [
      data([
        { choices: [{ delta: { content: "Hel" } }] },
        { choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] },
      ]),
      DONE,
    ],
    expected: HELLO,
  },
  {
    name: "usage-null",
    pieces: [delta({ content: "Hello" }, null, { usage: null }), finish(), DONE],
    expected: HELLO,
  },
  {
    name: "usage-strings",
    pieces: [
      say("Hello"),
      finish(),
      data({
        choices: [],
        usage: {
          prompt_tokens: "3",
          completion_tokens: "5",
          total_tokens: "x",
          prompt_tokens_details: "none",
        },
      }),
      DONE,
    ],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "usage-in-choice",
    pieces: [
      data({
        choices: [{ delta: { content: "Hello" }, finish_reason: "stop", usage: { completion_tokens: 5 } }],
      }),
      DONE,
    ],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "usage-without-choices",
    report: "vercel/ai#7417",
    pieces: [say("Hello"), finish(), data({ usage: { completion_tokens: 5 } }), DONE],
    expected: { ...HELLO, outputTokens: 5 },
  },

  // JSON bodies in place of a stream, and error bodies.
  {
    name: "whole-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello", tool_calls: null },
            finish_reason: "stop",
          },
        ],
        usage: { completion_tokens: 5 },
      }),
    ],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "whole-json-without-finish",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ choices: [{ message: { content: "Hello" } }] })],
    expected: HELLO,
  },
  {
    name: "whole-json-call",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        choices: [
          {
            message: {
              content: null,
              tool_calls: [
                { id: "a", type: "function", function: { name: "weather", arguments: { city: "Bern" } } },
              ],
            },
            finish_reason: "tool_calls",
          },
        ],
      }),
    ],
    expected: WEATHER,
  },
  {
    name: "json-lines",
    headers: JSON_TYPE,
    pieces: [
      `${JSON.stringify({ choices: [{ delta: { content: "Hel" } }] })}\n`,
      `${JSON.stringify({ choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] })}\n`,
    ],
    expected: HELLO,
  },
  { name: "not-json", pieces: ["data: {broken\n\n"], expected: broken("model_error", true, /unreadable/) },
  {
    name: "not-json-after-text",
    pieces: [say("Hello"), "data: {broken\n\n", DONE],
    expected: { text: "Hello", ...broken("model_error", true, /unreadable/) },
  },
  {
    name: "html",
    headers: HTML_TYPE,
    pieces: ["<!doctype html><title>Open WebUI</title>"],
    expected: broken("model_error", false, /foreign: Open WebUI/),
  },
  {
    name: "text",
    headers: { "content-type": "text/plain" },
    pieces: ["Ollama is running"],
    expected: broken("model_error", false, /foreign: Ollama is running/),
  },
  { name: "empty-body", pieces: [""], expected: broken("model_unavailable", true, /empty/) },
  {
    name: "blank-body",
    headers: JSON_TYPE,
    pieces: ["\n \n"],
    expected: broken("model_unavailable", true, /empty/),
  },
  {
    name: "empty-object",
    headers: JSON_TYPE,
    pieces: ["{}"],
    expected: broken("model_error", false, /foreign/),
  },
  {
    name: "comments-and-end",
    pieces: [": keep-alive\n\n", ": keep-alive\n\n"],
    expected: broken("model_unavailable", true, /empty/),
  },
  {
    name: "error-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        error: { message: "Incorrect API key", type: "invalid_request_error", code: "invalid_api_key" },
      }),
    ],
    expected: broken("model_auth", false, /Incorrect API key/),
  },
  {
    name: "error-json-status",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ error: { code: 429, message: "Rate limit exceeded" } })],
    expected: broken("model_rate_limited", true),
  },
  {
    name: "error-string",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ error: "model 'x' not found" })],
    expected: broken("model_error", false, /model 'x' not found/),
  },
  {
    name: "error-detail",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ detail: "Not authenticated" })],
    expected: broken("model_error", false, /Not authenticated/),
  },
  {
    name: "error-minimax",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ base_resp: { status_code: 1004, status_msg: "login fail: check your key" } })],
    expected: broken("model_auth", false, /login fail/),
  },
  {
    name: "error-cloudflare",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        success: false,
        errors: [{ code: 5007, message: "No such model @cf/x" }],
        result: null,
      }),
    ],
    expected: broken("model_not_found", false),
  },
  {
    name: "error-event",
    pieces: [error({ message: "Rate limit reached", type: "rate_limit_error" })],
    expected: broken("model_rate_limited", true),
  },
  {
    name: "error-event-after-text",
    pieces: [say("Hello"), error({ message: "The server had an error", type: "server_error" }), DONE],
    expected: { text: "Hello", ...broken("model_unavailable", true, /The server had an error/) },
  },
  {
    name: "error-named-event",
    pieces: [say("Hello"), 'event: error\ndata: {"message":"Too many requests","code":429}\n\n'],
    expected: { text: "Hello", ...broken("model_rate_limited", true) },
  },
  {
    name: "error-named-event-text",
    pieces: ["event: error\ndata: Internal server error\n\n"],
    expected: broken("model_unavailable", true),
  },
  {
    name: "error-in-choice",
    report: "diegosouzapw/OmniRoute#8210",
    pieces: [
      say("Hello"),
      data({
        choices: [
          {
            delta: { content: "" },
            finish_reason: "error",
            error: { code: 502, message: "Provider returned error" },
          },
        ],
      }),
    ],
    expected: { text: "Hello", ...broken("model_unavailable", true) },
  },
  {
    name: "error-openrouter",
    pieces: [
      say("Hello"),
      data({
        id: "gen-1",
        error: { code: "server_error", message: "Provider disconnected" },
        choices: [{ delta: { content: "" }, finish_reason: "error" }],
      }),
    ],
    expected: { text: "Hello", ...broken("model_unavailable", true) },
  },
  {
    name: "error-vllm",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        object: "error",
        message: "This model's maximum context length is 4096 tokens",
        type: "BadRequestError",
        code: 400,
      }),
    ],
    expected: broken("model_context_overflow", false),
  },
  {
    name: "error-without-message",
    pieces: [error({ code: 500 })],
    expected: broken("model_unavailable", true),
  },
  {
    name: "error-tools",
    status: 400,
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        error: {
          message: "registry.ollama.ai/library/gemma:2b does not support tools",
          type: "api_error",
          param: null,
          code: null,
        },
      }),
    ],
    expected: broken("model_error", false, /does not support tools/),
  },
  {
    name: "error-quoting",
    pieces: [
      say("The vault code is 4711-0815"),
      error({ message: 'Blocked: "vault code is 4711-0815"', type: "server_error" }),
    ],
    expected: {
      text: "The vault code is 4711-0815",
      ...broken("model_unavailable", true, /^reported: \[repeats the request\], server_error$/),
    },
  },

  {
    name: "error-text",
    report: "EricLBuehler/mistral.rs#1874",
    pieces: ["data: Number of choices must be greater than 0.\n\n"],
    after: "hold",
    expected: broken("model_error", true, /unreadable: Number of choices must be greater than 0/),
  },
  {
    name: "error-quota",
    report: "apache/rocketmq-dashboard#2178",
    pieces: [error({ message: "quota exceeded" }), DONE],
    expected: broken("model_rate_limited", false),
  },
  {
    name: "error-token",
    report: "fox1245/NeoGraph#124",
    pieces: [error("STREAM_EXPLODED"), DONE],
    expected: broken("model_error", false, /STREAM_EXPLODED/),
  },
  {
    name: "error-text-generation",
    report: "huggingface/huggingface_hub#2558",
    pieces: [
      data({
        error:
          "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 31 `inputs` tokens and 4091 `max_new_tokens`",
        error_type: "validation",
      }),
    ],
    expected: broken("model_context_overflow", false),
  },

  {
    name: "finish-resource",
    report: "can1357/oh-my-pi#8563",
    pieces: [say("Hello"), finish("insufficient_system_resource"), DONE],
    expected: {
      text: "Hello",
      ...broken("model_unavailable", true, /insufficient_system_resource/),
      says: "is overloaded",
    },
  },
  {
    name: "finish-error",
    report: "ranxianglei/billion-context-pi#169",
    pieces: [say('{"message":"Too many tokens, please wait before trying again."}'), finish("error_finish")],
    expected: {
      text: '{"message":"Too many tokens, please wait before trying again."}',
      ...broken("model_unavailable", true, /error_finish/),
      says: "broke off its answer",
    },
  },
  {
    name: "finish-filter",
    report: "coder/coder#28470",
    pieces: [
      delta({ reasoning_content: "Hm." }),
      finish("function_call_filter: MALFORMED_FUNCTION_CALL"),
      DONE,
    ],
    expected: broken("model_unavailable", true),
  },
  {
    name: "finish-content-filter",
    report: "experientiallabs/experiential#962",
    pieces: [say("Hello"), finish("content_filter")],
    expected: { text: "Hello" },
  },
  {
    name: "error-rate",
    report: "ovh/shai#105",
    headers: JSON_TYPE,
    pieces: [JSON.stringify({ message: "API rate limit exceeded", request_id: "af88" })],
    expected: broken("model_rate_limited", true),
  },
  {
    name: "role-empty",
    report: "anomalyco/opencode#28427",
    pieces: [delta({ role: "", content: "Hello" }), finish(), DONE],
    expected: HELLO,
  },
  {
    name: "call-name-null",
    report: "Effect-TS/effect#6346",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: null } }),
      calls({ index: 0, id: null, function: { name: null, arguments: BERN } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },

  // Reasoning and thinking tags.
  {
    name: "think",
    pieces: [say("<think>"), say("Hm."), say("</think>"), say("\n\nHello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-cut",
    pieces: [say("\n<th"), say("ink"), say(">H"), say("m.</t"), say("hin"), say("k>Hello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-attributes",
    pieces: [say('<think type="deep" >Hm.< /think >Hello'), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-names",
    report: "tinyhumansai/openhuman#6184",
    pieces: [say("<Thought>Hm.</Thought>Hello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-mistral",
    pieces: [say("[THINK]Hm.[/THINK]Hello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-harmony",
    report: "scouzi1966/maclocal-api#121",
    pieces: [
      say("<|channel|>analysis<|message|>Hm."),
      say("<|end|><|start|>assistant"),
      say("<|channel|>final<|message|>Hel"),
      say("lo<|return|>"),
      finish(),
      DONE,
    ],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-never-closed",
    pieces: [say("<think>Hm. < 3"), finish("length"), DONE],
    expected: { text: "", reasoning: "Hm. < 3" },
  },
  {
    name: "think-twice",
    pieces: [say("<think></think>\n<think>Hm.</think>\n\nHello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "think-in-text",
    pieces: [say("Use the `<think>` tag; it ends with `</think>`."), finish(), DONE],
    expected: { text: "Use the `<think>` tag; it ends with `</think>`." },
  },
  {
    name: "think-similar",
    pieces: [say("<thinker>"), say(" is no tag"), finish(), DONE],
    expected: { text: "<thinker> is no tag" },
  },
  { name: "think-only-bracket", pieces: [say("<"), finish(), DONE], expected: { text: "<" } },
  {
    name: "think-then-call",
    pieces: [
      say("<think>Hm.</think>"),
      calls({ index: 0, id: "a", function: { name: "weather", arguments: BERN } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: { ...WEATHER, text: "", reasoning: "Hm." },
  },
  {
    name: "reasoning-content",
    pieces: [delta({ reasoning_content: "Hm." }), say("Hello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "reasoning",
    pieces: [delta({ reasoning_content: "", reasoning: "Hm.", content: "" }), say("Hello"), finish(), DONE],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "reasoning-details",
    pieces: [
      delta({ reasoning_details: [{ type: "reasoning.text", text: "Hm." }] }),
      say("Hello"),
      finish(),
      DONE,
    ],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "reasoning-parts",
    pieces: [
      say([{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }]),
      say("Hello"),
      finish(),
      DONE,
    ],
    expected: { ...HELLO, reasoning: "Hm." },
  },
  {
    name: "reasoning-only",
    pieces: [delta({ reasoning: "Hm." }), finish(), DONE],
    expected: { text: "", reasoning: "Hm." },
  },

  {
    name: "reasoning-then-tag",
    report: "QwenLM/qwen-code#9348",
    pieces: [
      delta({ reasoning_content: "Hm. " }),
      say("<thinking>Well.</thinking>\n\nHello"),
      finish(),
      DONE,
    ],
    expected: { ...HELLO, reasoning: "Hm. Well." },
  },

  {
    name: "reasoning-between",
    report: "open-webui/open-webui#24697",
    pieces: [
      delta({ reasoning_content: "Hm." }),
      say("Hel"),
      delta({ reasoning_content: " Well." }),
      say("lo"),
      finish(),
      DONE,
    ],
    expected: { ...HELLO, reasoning: "Hm. Well." },
  },

  // Tool calls.
  {
    name: "call-index-counts-up",
    report: "dirac-run/dirac#215",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: '{"city":' } }),
      calls({ index: 1, function: { arguments: '"Be' } }),
      calls({ index: 2, function: { arguments: 'rn"}' } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-index-from-one",
    report: "pipecat-ai/pipecat#4987",
    pieces: [
      calls({ index: 1, id: "a", function: { name: "weather", arguments: "" } }),
      calls({ index: 1, id: null, function: { name: null, arguments: BERN } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "calls-interleaved",
    report: "QwenLM/Qwen-Agent#943",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: '{"city":' } }),
      calls({ index: 1, id: "b", function: { name: "weather", arguments: '{"city":' } }),
      calls({ index: 0, function: { arguments: '"Bern"}' } }),
      calls({ index: 1, function: { arguments: '"Rome"}' } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: TWO,
  },
  {
    name: "call",
    pieces: [
      calls({ index: 0, id: "a", type: "function", function: { name: "weather", arguments: "" } }),
      calls({ index: 0, function: { arguments: '{"city":' } }),
      calls({ index: 0, function: { arguments: '"Bern"}' } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-without-arguments",
    report: "vllm-project/vllm#11392",
    pieces: [
      calls({ index: 0, id: "a", type: "function", function: { name: "weather" } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: { calls: [["weather", {}]] },
  },
  {
    name: "call-cut",
    report: "ggml-org/llama.cpp#25510",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: '{"city":"Be' } }),
      finish("length"),
      DONE,
    ],
    expected: { calls: [["weather", '{"city":"Be']] },
  },
  {
    name: "call-name-harmony",
    report: "vllm-project/vllm#35906",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather<|channel|>commentary", arguments: BERN } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-object",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: { city: "Bern" } } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-without-index",
    report: "AstrBotDevs/AstrBot#6692",
    pieces: [
      calls({ id: "a", function: { name: "weather", arguments: '{"city":' } }),
      calls({ function: { arguments: '"Bern"}' } }),
      calls({ id: "b", function: { name: "weather", arguments: "" } }),
      calls({ function: { arguments: ROME } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: TWO,
  },
  {
    name: "call-without-id",
    pieces: [
      calls(
        { index: 0, id: "", function: { name: "weather", arguments: BERN } },
        { index: 1, id: null, function: { name: "weather", arguments: ROME } },
      ),
      finish("tool_calls"),
      DONE,
    ],
    expected: TWO,
  },
  {
    name: "call-same-id",
    pieces: [
      calls(
        { index: 0, id: "a", function: { name: "weather", arguments: BERN } },
        { index: 1, id: "a", function: { name: "weather", arguments: ROME } },
      ),
      finish("tool_calls"),
      DONE,
    ],
    expected: TWO,
  },
  {
    name: "call-same-index",
    report: "apache/maka#1976",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: "" } }),
      calls({ index: 0, function: { arguments: BERN } }),
      calls({ index: 0, id: "b", function: { name: "weather", arguments: "" } }),
      calls({ index: 0, function: { arguments: ROME } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: TWO,
  },
  {
    name: "call-repeated",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: BERN } }),
      calls({ index: 0, id: "a", function: { name: "weather", arguments: BERN } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-id-in-every-delta",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: '{"city":' } }),
      calls({ index: 0, id: "a", function: { name: "weather", arguments: '"Bern"}' } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-name-later",
    pieces: [
      calls({ index: 0, id: "a", function: { arguments: '{"city":' } }),
      calls({ index: 0, function: { name: "weather", arguments: '"Bern"}' } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-without-name",
    pieces: [say("Hello"), calls({ index: 0, id: "a", function: { arguments: BERN } }), finish("stop"), DONE],
    expected: { ...HELLO, calls: [] },
  },
  {
    name: "call-flat",
    pieces: [calls({ id: "a", name: "weather", arguments: BERN }), finish("tool_calls"), DONE],
    expected: WEATHER,
  },
  {
    name: "call-no-array",
    pieces: [
      delta({ tool_calls: { index: "0", id: "a", function: { name: "weather", arguments: BERN } } }),
      finish("tool_calls"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-legacy",
    pieces: [
      delta({ function_call: { name: "weather", arguments: '{"city":' } }),
      delta({ function_call: { arguments: '"Bern"}' } }),
      finish("function_call"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-finish-stop",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "weather", arguments: BERN } }),
      finish("stop"),
      DONE,
    ],
    expected: WEATHER,
  },
  {
    name: "call-of-a-prototype",
    pieces: [
      calls({ index: 0, id: "a", function: { name: "constructor", arguments: BERN } }),
      finish(),
      DONE,
    ],
    expected: PROTOTYPE,
  },
  {
    name: "call-null",
    pieces: [
      delta({ content: "Hello", tool_calls: null, function_call: null }),
      delta({ tool_calls: [null] }),
      finish(),
      DONE,
    ],
    expected: HELLO,
  },
];

const anthropic = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`;
const anthropicStart = anthropic("message_start", {
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    content: [],
    model: "c",
    usage: { input_tokens: 3, output_tokens: 0 },
  },
});
const anthropicText = (text: string): string =>
  anthropic("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  anthropic("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
const anthropicFinish =
  anthropic("content_block_stop", { index: 0 }) +
  anthropic("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } });
const anthropicStop = anthropic("message_stop", {});

/** Responses of Anthropic's Messages API. */
export const ANTHROPIC_QUIRKS: readonly Quirk[] = [
  {
    name: "stop-and-held",
    pieces: [anthropicStart, anthropicText("Hello"), anthropicFinish, anthropicStop],
    after: "hold",
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "stop-and-reset",
    pieces: [anthropicStart, anthropicText("Hello"), anthropicFinish, anthropicStop],
    after: "reset",
    expected: HELLO,
  },
  {
    name: "finish-and-held",
    pieces: [anthropicStart, anthropicText("Hello"), anthropicFinish],
    after: "hold",
    expected: HELLO,
  },
  { name: "done-without-finish", pieces: [anthropicStart, anthropicText("Hello"), DONE], expected: HELLO },
  {
    name: "end-without-finish",
    pieces: [anthropicStart, anthropicText("Hello")],
    expected: { text: "Hello", ...broken("model_unavailable", true, /cut/) },
  },
  {
    name: "pings",
    pieces: [
      ": hi\n\n",
      anthropic("ping", {}),
      anthropic("heartbeat", { n: 1 }),
      anthropicStart,
      anthropicText("Hello"),
      anthropicFinish,
      anthropicStop,
    ],
    expected: HELLO,
  },
  {
    name: "usage-null",
    pieces: [
      anthropic("message_start", { message: { id: "m", usage: null } }),
      anthropicText("Hello"),
      anthropic("message_delta", { delta: { stop_reason: "end_turn" } }),
      anthropicStop,
    ],
    expected: HELLO,
  },
  {
    name: "error-event-after-text",
    pieces: [
      anthropicStart,
      anthropicText("Hello"),
      anthropic("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
    ],
    expected: { text: "Hello", ...broken("model_unavailable", true, /Overloaded/) },
  },
  {
    name: "error-filter-after-text",
    report: "anthropics/claude-code#51226",
    pieces: [
      anthropicStart,
      anthropicText("Hello"),
      anthropic("error", {
        error: {
          details: null,
          type: "invalid_request_error",
          message: "Output blocked by content filtering policy",
        },
      }),
    ],
    expected: { text: "Hello", ...broken("model_refused", false, /content filtering policy/) },
  },
  {
    name: "call-at-once",
    report: "yannikzz/narracat-novel-agent#16",
    pieces: [
      anthropicStart,
      anthropic("content_block_start", {
        index: 0,
        content_block: { type: "tool_use", id: "a", name: "weather", input: { city: "Bern" } },
      }),
      anthropic("content_block_stop", { index: 0 }),
      anthropic("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }),
      anthropicStop,
    ],
    expected: WEATHER,
  },
  {
    name: "error-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        type: "error",
        error: { type: "authentication_error", message: "invalid x-api-key" },
      }),
    ],
    expected: broken("model_auth", false),
  },
  {
    name: "whole-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        id: "m",
        type: "message",
        role: "assistant",
        model: "c",
        content: [{ type: "text", text: "Hello" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 5 },
      }),
    ],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "not-json-after-text",
    pieces: [anthropicStart, anthropicText("Hello"), "data: {broken\n\n"],
    expected: { text: "Hello", ...broken("model_error", true, /unreadable/) },
  },
  {
    name: "html",
    headers: HTML_TYPE,
    pieces: ["<html>Sign in</html>"],
    expected: broken("model_error", false, /foreign/),
  },
  { name: "empty-body", pieces: [""], expected: broken("model_unavailable", true) },
  {
    name: "text-about-tags",
    pieces: [anthropicStart, anthropicText("<think>Hm.</think>"), anthropicFinish, anthropicStop],
    expected: { text: "<think>Hm.</think>" },
  },
  {
    name: "call-of-a-prototype",
    pieces: [
      anthropicStart,
      anthropic("content_block_start", {
        index: 0,
        content_block: { type: "tool_use", id: "a", name: "constructor", input: {} },
      }),
      anthropic("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: BERN } }),
      anthropic("content_block_stop", { index: 0 }),
      anthropic("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }),
      anthropicStop,
    ],
    expected: PROTOTYPE,
  },
];

const item = { type: "message", id: "msg_1" };
const responsesStart =
  data({ type: "response.created", response: { id: "r", created_at: 1, model: "g", error: null } }) +
  data({ type: "response.output_item.added", output_index: 0, item });
const responsesText = (text: string): string =>
  data({ type: "response.output_text.delta", item_id: "msg_1", delta: text });
const responsesEnd =
  data({ type: "response.output_item.done", output_index: 0, item }) +
  data({ type: "response.completed", response: { usage: { input_tokens: 3, output_tokens: 5 } } });

/** Responses of OpenAI's Responses API. */
export const RESPONSES_QUIRKS: readonly Quirk[] = [
  {
    name: "completed-and-held",
    report: "vastsa/PI-Desktop#217",
    pieces: [responsesStart, responsesText("Hello"), responsesEnd],
    after: "hold",
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "completed-and-reset",
    pieces: [responsesStart, responsesText("Hello"), responsesEnd],
    after: "reset",
    expected: HELLO,
  },
  { name: "done-without-end", pieces: [responsesStart, responsesText("Hello"), DONE], expected: HELLO },
  {
    name: "end-without-finish",
    pieces: [responsesStart, responsesText("Hello")],
    expected: { text: "Hello", ...broken("model_unavailable", true, /cut/) },
  },
  {
    name: "keepalive",
    pieces: [
      data({ type: "keepalive", sequence_number: 1 }),
      responsesStart,
      data({ type: "response.new_event" }),
      responsesText("Hello"),
      responsesEnd,
    ],
    expected: HELLO,
  },
  {
    name: "failed",
    pieces: [
      responsesStart,
      responsesText("Hello"),
      data({
        type: "response.failed",
        response: { error: { code: "server_error", message: "The model failed" } },
      }),
    ],
    expected: { text: "Hello", ...broken("model_unavailable", true, /The model failed/) },
  },
  {
    name: "incomplete",
    report: "langchain-ai/langchain#33840",
    pieces: [
      responsesStart,
      responsesText("Hello"),
      data({
        type: "response.incomplete",
        response: {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          usage: { input_tokens: 3, output_tokens: 5 },
        },
      }),
    ],
    after: "hold",
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "error-event",
    pieces: [
      data({
        type: "error",
        code: "rate_limit_exceeded",
        message: "Slow down",
        param: null,
        sequence_number: 1,
      }),
    ],
    expected: broken("model_rate_limited", true, /Slow down/),
  },
  {
    name: "error-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        error: {
          message: "Incorrect API key provided",
          type: "invalid_request_error",
          code: "invalid_api_key",
        },
      }),
    ],
    expected: broken("model_auth", false),
  },
  {
    name: "whole-json",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify({
        id: "r",
        object: "response",
        created_at: 1,
        model: "g",
        status: "completed",
        error: null,
        output: [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: "Hello", annotations: [] }],
          },
        ],
        usage: { input_tokens: 3, output_tokens: 5 },
      }),
    ],
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "not-json-after-text",
    pieces: [responsesStart, responsesText("Hello"), "data: {broken\n\n"],
    expected: { text: "Hello", ...broken("model_error", true, /unreadable/) },
  },
  {
    name: "html",
    headers: HTML_TYPE,
    pieces: ["<html>Sign in</html>"],
    expected: broken("model_error", false, /foreign/),
  },
  {
    name: "call-of-a-prototype",
    pieces: [
      data({ type: "response.created", response: { id: "r", created_at: 1, model: "g", error: null } }),
      data({
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", id: "f", call_id: "a", name: "constructor", arguments: "" },
      }),
      data({ type: "response.function_call_arguments.delta", item_id: "f", output_index: 0, delta: BERN }),
      data({
        type: "response.output_item.done",
        output_index: 0,
        item: {
          type: "function_call",
          id: "f",
          call_id: "a",
          name: "constructor",
          arguments: BERN,
          status: "completed",
        },
      }),
      data({ type: "response.completed", response: { usage: { input_tokens: 3, output_tokens: 5 } } }),
    ],
    expected: PROTOTYPE,
  },
];

const google = (parts: readonly object[], more: object = {}): string =>
  data({
    candidates: [{ content: { role: "model", parts }, ...more }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5 },
  });

/** Responses of Google's `streamGenerateContent`. */
export const GOOGLE_QUIRKS: readonly Quirk[] = [
  {
    name: "finish-and-held",
    pieces: [google([{ text: "Hello" }]), google([], { finishReason: "STOP" })],
    after: "hold",
    expected: { ...HELLO, outputTokens: 5 },
  },
  {
    name: "finish-and-reset",
    pieces: [google([{ text: "Hello" }], { finishReason: "STOP" })],
    after: "reset",
    expected: HELLO,
  },
  {
    name: "end-without-finish",
    pieces: [google([{ text: "Hello" }])],
    expected: { text: "Hello", ...broken("model_unavailable", true, /cut/) },
  },
  {
    name: "empty-chunks",
    pieces: [
      data({}),
      data(null),
      data({ candidates: null }),
      google([{ text: "Hello" }], { finishReason: "STOP" }),
    ],
    expected: HELLO,
  },
  {
    name: "finish-malformed",
    report: "vercel/ai#5039",
    pieces: [
      data({
        candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL" }],
        usageMetadata: { promptTokenCount: 9056, totalTokenCount: 9056 },
      }),
    ],
    expected: {
      ...broken("model_unavailable", true, /MALFORMED_FUNCTION_CALL/),
      says: "broke off its answer",
    },
  },
  {
    name: "finish-malformed-signature",
    report: "Wei-Shaw/sub2api#7081",
    pieces: [google([{ text: "", thoughtSignature: "c2ln" }], { finishReason: "MALFORMED_FUNCTION_CALL" })],
    expected: broken("model_unavailable", true, /MALFORMED_FUNCTION_CALL/),
  },
  {
    name: "finish-unexpected",
    report: "elastic/kibana#227096",
    pieces: [google([{ text: "Hello" }]), google([], { finishReason: "UNEXPECTED_TOOL_CALL" })],
    expected: { text: "Hello", ...broken("model_unavailable", true, /UNEXPECTED_TOOL_CALL/) },
  },
  { name: "done-without-finish", pieces: [google([{ text: "Hello" }]), DONE], expected: HELLO },
  {
    name: "whole-array",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify([
        { candidates: [{ content: { parts: [{ text: "Hel" }] } }] },
        { candidates: [{ content: { parts: [{ text: "lo" }] }, finishReason: "STOP" }] },
      ]),
    ],
    expected: HELLO,
  },
  {
    name: "error-array",
    headers: JSON_TYPE,
    pieces: [
      JSON.stringify([{ error: { code: 429, message: "Resource exhausted", status: "RESOURCE_EXHAUSTED" } }]),
    ],
    expected: broken("model_rate_limited", true),
  },
  {
    name: "error-event-after-text",
    pieces: [
      google([{ text: "Hello" }]),
      error({ code: 503, message: "The model is overloaded", status: "UNAVAILABLE" }),
    ],
    expected: { text: "Hello", ...broken("model_unavailable", true, /overloaded/) },
  },
  {
    name: "not-json-after-text",
    pieces: [google([{ text: "Hello" }]), "data: {broken\n\n"],
    expected: { text: "Hello", ...broken("model_error", true, /unreadable/) },
  },
  {
    name: "html",
    headers: HTML_TYPE,
    pieces: ["<html>Sign in</html>"],
    expected: broken("model_error", false, /foreign/),
  },
  {
    name: "call-of-a-prototype",
    pieces: [
      google([{ functionCall: { name: "constructor", args: { city: "Bern" } } }], { finishReason: "STOP" }),
    ],
    expected: PROTOTYPE,
  },
];
