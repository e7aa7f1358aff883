// Access to the OpenAI API: served Apps and `Authorization: Bearer`.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { createClient } from "@colloquy/client";
import { describe, expect, it } from "vitest";
import { refusalOf, startOpenAI, useOpenAI } from "./openai-service.ts";

const ONE = { model: "default", messages: [{ role: "user" as const, content: "hello" }] };

describe("on loopback", () => {
  const service = useOpenAI();

  it("serves the default App with any Bearer, and without one", async () => {
    for (const key of ["any", "sk-123"])
      expect((await service().clientOf(key).models.list()).data).not.toEqual([]);
    expect((await fetch(`${service().url}/v1/models`)).status).toBe(200);
  });

  it("rejects an unknown Host header with 403", async () => {
    const asked = get(`${service().url}/v1/models`, { headers: { Host: "evil.example" } });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    expect(await json(answer)).toMatchObject({
      error: { type: "permission_error", request_id: expect.any(String) },
    });
  });

  it("rejects unknown paths and methods in the API's error format", async () => {
    const { client } = service();
    expect(await refusalOf(client.embeddings.create({ model: "default", input: "hi" }))).toMatchObject({
      status: 404,
      type: "not_found_error",
      code: "route_not_found",
      message: expect.stringMatching(/^404 This path is not supported/),
    });
    expect(await refusalOf(client.get("/responses"))).toMatchObject({
      status: 405,
      type: "invalid_request_error",
      code: "method_not_allowed",
      message: expect.stringMatching(/^405 This path does not know GET/),
    });
    const long = "x".repeat(1024 * 1024);
    expect(await refusalOf(client.responses.create({ model: "default", input: long }))).toMatchObject({
      status: 413,
      code: "body_too_large",
      message: expect.stringContaining("at most 1024 KiB"),
    });
  });

  it("rejects a body that a page can send without a preflight, with 415", async () => {
    const answer = await fetch(`${service().url}/v1/responses`, {
      method: "POST",
      headers: { "Content-Type": "text/plain" },
      body: JSON.stringify({ model: "default", input: "hi" }),
    });
    expect(answer.status).toBe(415);
  });
});

describe("behind a proxy", () => {
  const environment = { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" };

  describe("by default", () => {
    const service = useOpenAI({ environment });

    it("serves no App, and explains in the 404 how to enable one", async () => {
      const refusal = await refusalOf(service().clientOf("any").chat.completions.create(ONE));
      expect(refusal).toMatchObject({ status: 404 });
      const answer = await fetch(`${service().url}/v1/responses`, { method: "POST" });
      expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('"openai": { "apps"') });
    });
  });

  describe("with a configured App", () => {
    const service = useOpenAI({ environment, served: ["default"] });

    it("rejects a Bearer that is neither a key nor a token with 401", async () => {
      const refusal = await refusalOf(service().clientOf("sk-123").chat.completions.create(ONE));
      expect(refusal).toMatchObject({ status: 401, type: "authentication_error", code: "app_key_invalid" });
      expect(await refusalOf(service().clientOf("clq_unknown_key").models.list())).toMatchObject({
        status: 401,
      });
      expect((await fetch(`${service().url}/v1/models`)).status).toBe(200);
    });

    it("rejects and does not list an App that is not served, even with its key", async () => {
      const client = service().clientOf(await service().createKey("shop"));
      expect((await client.models.list()).data.map(({ id }) => id)).not.toContain("shop");
      expect(await refusalOf(client.chat.completions.create({ ...ONE, model: "shop" }))).toMatchObject({
        status: 404,
        code: "model_not_found",
      });
    });

    it("shows and changes no conversation of an App that is not served", async () => {
      const { createKey, clientOf, url } = service();
      const key = await createKey("shop");
      const client = clientOf(key);
      const session = randomUUID();
      const headers = { "X-Session-Id": session, "SERVICE-APP-KEY": key };
      const query = new URLSearchParams({ app: "shop", message: "a secret" });
      expect((await fetch(`${url}/api/chat?${query.toString()}`, { method: "POST", headers })).status).toBe(
        200,
      );
      const response = `resp_${session}_1`;
      const refusals = [
        client.responses.retrieve(response),
        client.responses.inputItems.list(response),
        client.responses.cancel(response),
        client.responses.delete(response),
        client.conversations.create({}, { headers: { "X-Conversation-Id": `conv_${session}` } }),
      ];
      const codes = await Promise.all(refusals.map(async (asked) => (await refusalOf(asked)).code));
      expect(new Set(codes)).toEqual(new Set(["model_not_found"]));
    });

    it("does not reveal names of Apps to requests without a key", async () => {
      const answer = await fetch(`${service().url}/v1/chat/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...ONE, model: "other" }),
      });
      expect(answer.status).toBe(401);
    });
  });

  describe("with an App that requires a key", () => {
    const service = useOpenAI({ environment, served: ["shop"] });

    it("accepts the key as Bearer, but only for its App and the App's conversations", async () => {
      const { model, createKey, clientOf } = service();
      const client = clientOf(await createKey("shop"));
      expect((await client.models.list()).data.map(({ id }) => id)[0]).toBe("shop");
      const response = client.responses.create({ model: "shop", input: "hello" });
      (await model.next()).say("Hi").finish();
      const { id } = await response;
      expect((await client.responses.retrieve(id)).output_text).toBe("Hi");
      const other = clientOf(await createKey("club"));
      expect(await refusalOf(other.responses.retrieve(id))).toMatchObject({ status: 403 });
      expect(await refusalOf(client.chat.completions.create(ONE))).toMatchObject({ status: 404 });
    });

    it("shows no conversation of the default App", async () => {
      const { url, createKey, clientOf } = service();
      const client = clientOf(await createKey("shop"));
      const session = randomUUID();
      await createClient({ baseUrl: url }).sendMessage(session, "a secret");
      for (const request of [
        () => client.responses.retrieve(`resp_${session}_1`),
        () => client.conversations.retrieve(`conv_${session}`),
        () => client.conversations.items.list(`conv_${session}`),
      ])
        expect(await refusalOf(request())).toMatchObject({ status: 404, code: "model_not_found" });
    });
  });
});

describe("a request that waits for an answer", () => {
  it("fails with 503 when the service stops", async () => {
    const service = await startOpenAI();
    const waiting = refusalOf(service.client.responses.create({ model: "default", input: "hello" }));
    await service.model.next();
    await service.close();
    expect(await waiting).toMatchObject({ status: 503, code: "answer_cut_off", type: "server_error" });
  });
});
