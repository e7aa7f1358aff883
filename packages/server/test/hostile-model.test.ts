// A malicious model over the wire: it floods, tries path traversal, fabricates tool calls and tries to
// exfiltrate a secret. Nothing leaks, nothing runs without the required approval, and the session answers the
// next message.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import type { Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newSession, send, whenIdle, state } from "./black-box/client.ts";
import { Program } from "./black-box/server.ts";
import { ProviderServer, writeEvents } from "./provider-server.ts";
import { compatible } from "./providers/compatible-protocol.ts";
import type { Part } from "./providers/protocols.ts";

const SECRET = "hostile-canary-7c1f0e9d";
const CLIENT = "client-1";

const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  paths: {
    "/items/{item}": {
      get: {
        operationId: "item",
        parameters: [{ name: "item", in: "path", required: true, schema: { type: "string" } }],
        responses: { 200: { description: "The item" } },
      },
      delete: {
        operationId: "remove",
        parameters: [{ name: "item", in: "path", required: true, schema: { type: "string" } }],
        responses: { 200: { description: "Gone" } },
      },
    },
  },
};

let shop: Server;
const asked: { readonly method: string; readonly url: string; readonly authorization: string }[] = [];
let provider: ProviderServer;
let program: Program;
/** The model's output for the attack. */
let attack: readonly Part[] = [];

beforeAll(async () => {
  shop = createServer(({ method = "", url = "", headers }, response) => {
    if (url === "/shop.json") {
      response.end(JSON.stringify(DOCUMENT));
      return;
    }
    asked.push({ method, url, authorization: headers.authorization ?? "" });
    response.end(JSON.stringify({ echo: headers.authorization, url }));
  });
  await once(shop.listen(0, "127.0.0.1"), "listening");
  provider = new ProviderServer();
  await provider.start();
  provider.answer = answerAsModel;
  program = await Program.start(config(`http://127.0.0.1:${(shop.address() as AddressInfo).port}`));
  const path = `/api/secrets?client_id=${CLIENT}&app=default`;
  expect((await send(program.url, "PUT", path, { json: { KEY: SECRET } })).status).toBe(200);
});
afterAll(async () => {
  await program.remove();
  await provider.stop();
  shop.close();
});
beforeEach(() => {
  asked.length = 0;
});

function config(shopURL: string): object {
  return {
    apps: {
      default: {
        models: ["local/hostile"],
        utilityModel: "demo/assistant",
        tools: ["calculator"],
        secrets: [{ name: "KEY", description: "Key of the shop", required: true }],
        openapi: {
          shop: {
            document: `${shopURL}/shop.json`,
            baseURL: `${shopURL}/api`,
            headers: { Authorization: "Bearer {{secret.KEY}}" },
          },
        },
        approvals: { shop_remove: "always" },
      },
    },
    providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
  };
}

/** Sends the attack first, and then answers tool results and harmless messages normally. */
const answerAsModel: ProviderServer["answer"] = (response, { body }) => {
  const messages = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: unknown }>;
  const isFirst = messages.at(-1)?.role === "user";
  const isHarmless = JSON.stringify(messages.at(-1)?.content).includes("still there");
  const parts = isFirst && !isHarmless ? attack : [{ deltas: ["I am still here."] }];
  writeEvents(response, compatible.answer(parts));
  response.end("data: [DONE]\n\n");
};

function call(tool: string, input: unknown, id = `call_${tool}`): Part {
  return { tool, input, id };
}

/**
 * Lets the model attack, waits until the turn has ended, and verifies that the session still works. Returns
 * the snapshot.
 */
async function survive(parts: readonly Part[]): Promise<Snapshot> {
  attack = parts;
  const session = newSession();
  await say(session, "attack");
  await denyWhatIsAsked(session);
  const after = await whenIdle(program.url, session);
  expect(after.status).toBe("idle");
  expect(JSON.stringify(after)).not.toContain(SECRET);
  await say(session, "are you still there?");
  const { messages } = await whenIdle(program.url, session);
  expect(messages.at(-1)?.content).toBe("I am still here.");
  return after;
}

async function say(session: string, message: string): Promise<void> {
  const query = new URLSearchParams({ message, client_id: CLIENT });
  const answer = await send(program.url, "POST", `/api/chat?${query.toString()}`, { session });
  expect(answer.status).toBe(200);
}

async function denyWhatIsAsked(session: string): Promise<void> {
  for (;;) {
    const now = await state(program.url, session);
    if (!now.is_processing) return;
    for (const { id } of now.pending_actions) {
      await send(program.url, "POST", `/api/actions/${id}`, { session, json: { decision: "deny" } });
    }
  }
}

describe("a hostile model", () => {
  it("cannot read a secret: placeholders in its input stay text, and an echoed key is scrubbed", async () => {
    const after = await survive([call("shop_item", { item: "{{secret.KEY}}" })]);
    expect(asked).toEqual([
      { method: "GET", url: "/api/items/%7B%7Bsecret.KEY%7D%7D", authorization: `Bearer ${SECRET}` },
    ]);
    expect(JSON.stringify(after)).toContain("[secret]");
    for (const { body } of provider.requests) expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  it.each([
    "../admin",
    "..",
    ".",
    "a/../../admin",
    "..%2fadmin",
    "http://169.254.169.254/latest",
    "//evil.test/x",
    "?x=1#y",
  ])("cannot leave the path of an operation with %s", async (item) => {
    await survive([call("shop_item", { item })]);
    for (const { url } of asked) expect(url).toMatch(/^\/api\/items\/[^/?#]+$/);
  });

  it("cannot run a call that needs approval, even many times at once", async () => {
    await survive(
      Array.from({ length: 20 }, (_, n) => call("shop_remove", { item: String(n) }, `call_${n}`)),
    );
    expect(asked).toEqual([]);
  });

  it.each([
    [
      "names that are no tools",
      ["__proto__", "constructor", "", "a b", "x".repeat(500)].map((name, n) => call(name, {}, `c${n}`)),
    ],
    ["input of a wrong shape", [call("calculator", { expression: 7 }), call("shop_item", [1, 2], "c2")]],
    ["input that is nested beyond reason", [call("shop_remove", nested(500))]],
    ["input that is large beyond reason", [call("calculator", { expression: "1+".repeat(200_000) })]],
    [
      "a flood of calls",
      Array.from({ length: 500 }, (_, n) => call("calculator", { expression: "1" }, `c${n}`)),
    ],
    [
      "many calls, each of which is large beyond reason",
      Array.from({ length: 30 }, (_, n) => call("shop_remove", { item: "x".repeat(1_000_000) }, `c${n}`)),
    ],
    [
      "many calls that are large together",
      Array.from({ length: 64 }, (_, n) => call("shop_item", { item: "x".repeat(30_000) }, `c${n}`)),
    ],
    [
      "calls that share an id",
      [call("calculator", { expression: "1" }, "same"), call("calculator", { expression: "2" }, "same")],
    ],
    ["text with characters that nobody can store", [{ deltas: ["a\u0000b\ud800c"] }]],
    ["a flood of text", [{ deltas: Array.from({ length: 200 }, () => "flood ".repeat(1_000)) }]],
    ["nothing at all", []],
  ])("does not stop the session with %s", async (_what, parts) => {
    const after = await survive(parts);
    expect(after.messages[1]?.status).toMatch(/^(?:complete|failed)$/);
  });
});

function nested(depth: number): object {
  let value: object = { item: "x" };
  for (let n = 0; n < depth; n += 1) value = { deeper: value };
  return value;
}
