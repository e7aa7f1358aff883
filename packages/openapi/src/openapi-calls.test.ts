// Calls of an OpenAPI service: where keys are sent, and how failures are reported.

import { describe, expect, it } from "vitest";
import { SecretMissing } from "@colloquy/engine/internal/core/ports/driven/tool";
import { call, list, named, namesOf, useOpenApi } from "./testing/use-openapi.ts";

const { documentWith, log, open, startServer } = useOpenApi();

describe("the configured headers", () => {
  const paths = { "/a": { post: { operationId: "a" } } };

  it("are sent with each call, with the secrets of the turn's client filled in", async () => {
    const [server, url] = await startServer((_, response) => response.end('"ok"'));
    const headers = { "X-Key": "Key {{secret.TOKEN}}", "X-Own": "own" };
    const [tool] = await list(open({ document: await documentWith({ paths }), baseURL: url, headers }));
    const secret = (name: string): string => `${name}-of-client`;
    expect(await call(tool, {}, { secret })).toEqual({ status: 200, body: "ok" });
    expect(server.seen[0]?.headers).toMatchObject({ "x-key": "Key TOKEN-of-client", "x-own": "own" });
    await expect(call(tool, {})).rejects.toThrow(SecretMissing);
    expect(server.seen).toHaveLength(1);
  });

  it("are not sent to a redirect target, nor for the document", async () => {
    const [other, otherUrl] = await startServer((_, response) => response.end("other"));
    const [server, url] = await startServer((request, response) => {
      if (request.url === "/document") response.end(JSON.stringify({ openapi: "3.1.0", info: {}, paths }));
      else response.writeHead(307, { location: `${otherUrl}/b` }).end();
    });
    const headers = { authorization: "Bearer {{secret.TOKEN}}" };
    const [tool] = await list(open({ document: `${url}/document`, headers }));
    await expect(call(tool, {}, { secret: () => "token" })).rejects.toThrow("was refused");
    expect(server.seen.map((request) => request.headers.authorization)).toEqual([undefined, "Bearer token"]);
    expect(other.connections()).toBe(0);
  });

  it("are not sent to another server that a fetched document names", async () => {
    const [other, otherUrl] = await startServer((_, response) => response.end("other"));
    const [, url] = await startServer((_, response) =>
      response.end(JSON.stringify({ openapi: "3.1.0", info: {}, servers: [{ url: otherUrl }], paths })),
    );
    const source = open({ document: url, headers: { authorization: "Bearer token" } });
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(log[0]?.message).toBe("an OpenAPI document cannot be used");
    expect(other.connections()).toBe(0);
  });

  it("are scrubbed from the service's responses", async () => {
    const headers = { authorization: "Bearer sk-operators-own" };
    const [tool] = await list(
      open({ document: await documentWith({ paths }), baseURL: "https://api.test", headers }),
    );
    expect(JSON.stringify(tool?.scrub?.({ echo: "sk-operators-own" }))).not.toContain("operators");
  });
});

describe("a failing call", () => {
  it("reports an unknown outcome if it may have had an effect", async () => {
    const [, url] = await startServer((_, response) => response.destroy());
    const document = await documentWith({
      paths: {
        "/a": { get: { operationId: "read" }, put: { operationId: "put" }, post: { operationId: "post" } },
      },
    });
    const tools = await list(open({ document, baseURL: url }));
    const broke = /^The connection to 127\.0\.0\.1:\d+ broke before the answer was complete\.$/;
    await expect(call(named(tools, "pets_read"), {})).rejects.toThrow(broke);
    await expect(call(named(tools, "pets_put"), {})).rejects.toThrow(broke);
    await expect(call(named(tools, "pets_post"), {})).rejects.toThrow("Its outcome is unknown");
  });

  it("reports no unknown outcome if nothing was sent", async () => {
    const [server, url] = await startServer((_, response) => response.end());
    await server.stop();
    const document = await documentWith({ paths: { "/a": { post: { operationId: "post" } } } });
    const [tool] = await list(open({ document, baseURL: url }));
    const error = await call(tool, {}).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/cannot be reached: nothing answers there\.$/);
  });

  it("is aborted when the turn ends", async () => {
    const arrived = Promise.withResolvers<void>();
    const [, url] = await startServer(() => arrived.resolve());
    const document = await documentWith({ paths: { "/a": { get: { operationId: "a" } } } });
    const [tool] = await list(open({ document, baseURL: url }));
    const stop = new AbortController();
    const calling = call(tool, {}, { signal: stop.signal });
    await arrived.promise;
    stop.abort(new Error("The turn is over."));
    await expect(calling).rejects.toThrow("The turn is over.");
  });
});
