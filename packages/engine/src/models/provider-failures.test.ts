// Failures that every provider can have.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  createProviderCatalog,
  failureOf,
  type Rig,
  rigs,
  secretKey,
} from "../../../server/test/provider-calls.ts";
import { answerJson, ProviderServer } from "../../../server/test/provider-server.ts";

const server = new ProviderServer();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => void (server.requests.length = 0));

function fail(rig: Rig, signal?: AbortSignal) {
  return failureOf(createProviderCatalog(server.url), rig, signal);
}

/** Returns an error body in the format of the rig's provider. */
function errorBody(
  rig: Rig,
  error: { status: number; type: string; message: string; code?: string; google?: string },
) {
  const message = `${error.message} (request by ${secretKey} to ${server.url})`;
  if (rig.startsWith("anthropic")) return { type: "error", error: { type: error.type, message } };
  if (rig.startsWith("google"))
    return { error: { code: error.status, message, status: error.google ?? "UNKNOWN" } };
  return { error: { message, type: error.type, code: error.code ?? null, param: null } };
}

describe.each(rigs)("failure of %s", (rig) => {
  const answered = (error: Parameters<typeof errorBody>[1], headers: Record<string, string> = {}) => {
    server.answer = answerJson(error.status, errorBody(rig, error), headers);
    return fail(rig);
  };

  it("maps an invalid key to model_auth", async () => {
    const error = {
      status: 401,
      type: "authentication_error",
      message: "Incorrect API key",
      code: "invalid_api_key",
    };
    expect(await answered(error)).toMatchObject({ code: "model_auth", retryable: false });
    expect(await answered({ ...error, status: 403 })).toMatchObject({ code: "model_auth", retryable: false });
  });

  it("maps 429 to model_rate_limited with the delay", async () => {
    const error = {
      status: 429,
      type: "rate_limit_error",
      message: "Slow down",
      google: "RESOURCE_EXHAUSTED",
    };
    const limited = { code: "model_rate_limited", retryable: true };
    expect(await answered(error, { "retry-after": "7" })).toMatchObject({ ...limited, retryAfterMs: 7_000 });
    expect(await answered(error, { "retry-after-ms": "250", "retry-after": "7" })).toMatchObject({
      retryAfterMs: 250,
    });
    expect(await answered(error, { "retry-after": "900" })).toMatchObject({
      ...limited,
      retryAfterMs: 900_000,
    });
    const plain = await answered(error);
    expect(plain).toMatchObject(limited);
    expect(plain).not.toHaveProperty("retryAfterMs");
  });

  it.each([500, 502, 503, 529])("maps status %i", async (status) => {
    const error = { status, type: "api_error", message: "Overloaded", google: "UNAVAILABLE" };
    expect(await answered(error)).toMatchObject({ code: "model_unavailable", retryable: true });
  });

  it("maps an HTML error page of a gateway", async () => {
    server.answer = answerJson(502, "<html>Bad gateway</html>");
    expect(await fail(rig)).toMatchObject({ code: "model_unavailable", retryable: true });
    server.answer = answerJson(504, "<html>Gateway time-out</html>");
    expect(await fail(rig)).toMatchObject({ code: "model_timeout", retryable: true });
  });

  it("maps an unknown model", async () => {
    const error = {
      status: 404,
      type: "not_found_error",
      message: "No such model",
      code: "model_not_found",
      google: "NOT_FOUND",
    };
    expect(await answered(error)).toMatchObject({ code: "model_not_found", retryable: false });
  });

  it("maps a rejected request", async () => {
    const error = {
      status: 400,
      type: "invalid_request_error",
      message: "Unknown parameter",
      google: "INVALID_ARGUMENT",
    };
    expect(await answered(error)).toMatchObject({ code: "model_error", retryable: false });
  });

  it("maps an unreachable server", async () => {
    const gone = new ProviderServer();
    await gone.start();
    const catalog = createProviderCatalog(gone.url);
    await gone.stop();
    expect(await failureOf(catalog, rig)).toMatchObject({ code: "model_unavailable", retryable: true });
  });

  it("maps a connection that breaks before or during the response", async () => {
    server.answer = (response) => response.destroy();
    expect(await fail(rig)).toMatchObject({ code: "model_unavailable", retryable: true });
    server.answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"type":', () => response.destroy());
    };
    expect(await fail(rig)).toMatchObject({ code: "model_unavailable", retryable: true });
  });

  it("maps a malformed response", async () => {
    server.answer = answerJson(200, "data: not json\n\n", { "content-type": "text/event-stream" });
    expect(await fail(rig)).toMatchObject({ code: "model_error", retryable: true });
  });

  it("maps a timeout, and closes the connection", async () => {
    const asked = Promise.withResolvers<void>();
    server.answer = () => asked.resolve();
    const stop = new AbortController();
    const failure = fail(rig, stop.signal);
    await asked.promise;
    stop.abort(new DOMException("The time is over.", "TimeoutError"));
    expect(await failure).toMatchObject({ code: "model_timeout", retryable: true });
    await server.requests[0]?.closed;
  });
});
