// OpenAPI documents that broke other tools, from public reports (owner/repository#number).

import { describe, expect, it } from "vitest";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { call, list, named, namesOf, useOpenApi } from "./testing/use-openapi.ts";

const { documentWith, log, open, startServer } = useOpenApi();
const text = { type: "string" };

/** Lists the tools of a document whose server answers every request with `"ok"`. */
async function opened(document: JsonObject) {
  const [server, url] = await startServer((_, response) => response.end('"ok"'));
  return { tools: await list(open({ document: await documentWith(document), baseURL: url })), server };
}

describe("an OpenAPI source", () => {
  it("resolves path-level parameter references (agentgateway/agentgateway#1579, ttoss/ttoss#1159)", async () => {
    const { tools, server } = await opened({
      components: {
        parameters: { gid: { name: "workspace_gid", in: "path", required: true, schema: text } },
      },
      paths: {
        "/workspaces/{workspace_gid}/tags": {
          parameters: [{ $ref: "#/components/parameters/gid" }, { name: "limit", in: "query", schema: text }],
          get: {
            operationId: "tags",
            parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }],
          },
        },
      },
    });
    expect(tools[0]?.inputSchema).toMatchObject({
      properties: { workspace_gid: text, limit: { type: "integer" } },
      required: ["workspace_gid"],
    });
    expect(await call(tools[0], { workspace_gid: "a b", limit: 2 })).toEqual({ status: 200, body: "ok" });
    expect(server.seen[0]?.url).toBe("/workspaces/a%20b/tags?limit=2");
  });

  it("sends JSON bodies with a +json media type (doitintl/doit-mcp-server#225)", async () => {
    const schema = { type: "object", properties: { name: text } };
    const { tools, server } = await opened({
      paths: {
        "/customers": {
          patch: {
            operationId: "update_customer",
            requestBody: { required: true, content: { "application/merge-patch+json": { schema } } },
          },
        },
      },
    });
    await call(tools[0], { name: "Ada" });
    expect(server.seen[0]?.headers["content-type"]).toBe("application/merge-patch+json");
    expect(server.seen[0]?.body).toBe('{"name":"Ada"}');
  });

  it("names operations without an operationId after their method and path (open-webui/open-webui#12902)", async () => {
    const { tools, server } = await opened({
      paths: {
        "/app-info": { get: { operationId: "" } },
        "/notes/{id}": { get: { parameters: [{ name: "id", in: "path", required: true, schema: text }] } },
      },
    });
    expect(namesOf(tools)).toEqual(["pets_get_app_info", "pets_get_notes_id"]);
    await call(named(tools, "pets_get_notes_id"), { id: "root" });
    expect(server.seen[0]?.url).toBe("/notes/root");
  });

  it("distinguishes a parameter and a body field of the same name (UiPath/uipathcli#75)", async () => {
    const { tools, server } = await opened({
      paths: {
        "/extraction/result/{operationId}": {
          post: {
            operationId: "result",
            parameters: [{ name: "operationId", in: "path", required: true, schema: text }],
            requestBody: {
              content: {
                "application/json": { schema: { type: "object", properties: { operationId: text } } },
              },
            },
          },
        },
      },
    });
    await call(tools[0], { operationId: "path", operationId_body: "body" });
    expect(server.seen).toMatchObject([{ url: "/extraction/result/path", body: '{"operationId":"body"}' }]);
  });

  it("omits operations that require a file upload, and logs the reason (samanhappy/mcphub#1078)", async () => {
    const { tools } = await opened({
      paths: {
        "/upload": {
          post: {
            operationId: "upload",
            requestBody: {
              required: true,
              content: { "multipart/form-data": { schema: { type: "object", properties: { file: text } } } },
            },
          },
        },
        "/files": { get: { operationId: "files" } },
      },
    });
    expect(namesOf(tools)).toEqual(["pets_files"]);
    expect(JSON.stringify(log)).toContain(
      "Its body is multipart/form-data, and only JSON and forms without files are supported.",
    );
  });

  it("serializes form bodies according to their encoding object (punkpeye/fastmcp#350)", async () => {
    const schema = {
      type: "object",
      properties: {
        amount: { type: "integer" },
        expand: { type: "array", items: text },
        metadata: { type: "object", additionalProperties: text },
        address: { type: "object", properties: { city: text } },
        note: { type: ["string", "null"] },
      },
      required: ["amount"],
    };
    const encoding = {
      expand: { style: "deepObject", explode: true },
      metadata: { style: "deepObject", explode: true },
    };
    const { tools, server } = await opened({
      paths: {
        "/v1/charges": {
          post: {
            operationId: "PostCharges",
            requestBody: { content: { "application/x-www-form-urlencoded": { encoding, schema } } },
          },
        },
        "/Messages.json": {
          post: {
            operationId: "CreateMessage",
            requestBody: {
              required: true,
              content: {
                "application/x-www-form-urlencoded": {
                  schema: {
                    type: "object",
                    properties: { To: text, MediaUrl: { type: "array", items: text } },
                  },
                },
              },
            },
          },
        },
      },
    });
    const charge = {
      amount: 5,
      expand: ["a b", "c"],
      metadata: { order: "7&8" },
      address: { city: "Bern" },
      note: null,
    };
    await call(named(tools, "pets_PostCharges"), charge);
    await call(named(tools, "pets_CreateMessage"), { To: "+41", MediaUrl: ["https://a.test/?x=1", "b"] });
    expect(server.seen.map(({ body }) => decodeURIComponent(body))).toEqual([
      'amount=5&expand[0]=a b&expand[1]=c&metadata[order]=7&8&address={"city":"Bern"}',
      "To=+41&MediaUrl=https://a.test/?x=1&MediaUrl=b",
    ]);
    expect(server.seen[0]?.body).toContain("metadata[order]=7%268&");
    expect(server.seen[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
  });

  it("substitutes server variables with their defaults (smithersai/smithers#716)", async () => {
    const [server, url] = await startServer((_, response) => response.end('"ok"'));
    const variables = {
      scheme: { default: "http" },
      host: { default: url.slice("http://".length) },
      version: { default: "v1" },
    };
    const document = await documentWith({
      servers: [{ url: "{scheme}://{host}/{version}/", variables }],
      paths: { "/a": { get: { operationId: "a" } } },
    });
    const tools = await list(open({ document }));
    expect(await call(tools[0], {})).toEqual({ status: 200, body: "ok" });
    expect(server.seen[0]?.url).toBe("/v1/a");
  });
});
