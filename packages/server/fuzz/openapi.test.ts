import { describe, expect, it } from "vitest";
import { readOperations } from "./openapi.ts";

describe("readOperations", () => {
  it("returns method, parameters and body, with references resolved", () => {
    const document = {
      openapi: "3.1.0",
      paths: {
        "/api/sessions/{id}": {
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          summary: "not an operation",
          patch: {
            parameters: [{ $ref: "#/components/parameters/Session" }],
            requestBody: {
              required: true,
              content: { "application/json": { schema: { $ref: "#/components/schemas/Rename" } } },
            },
          },
          get: {},
        },
      },
      components: {
        parameters: { Session: { name: "X-Session-Id", in: "header", schema: { type: "string" } } },
        schemas: { Rename: { type: "object", properties: { title: { type: "string" } } } },
      },
    };
    expect(readOperations(document)).toEqual([
      {
        method: "PATCH",
        path: "/api/sessions/{id}",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" } },
          { name: "X-Session-Id", in: "header", required: false, schema: { type: "string" } },
        ],
        body: { type: "object", properties: { title: { type: "string" } } },
        bodyRequired: true,
      },
      expect.objectContaining({ method: "GET", body: null, bodyRequired: false }),
    ]);
  });

  it("throws without operations", () => {
    expect(() => readOperations({ paths: {} })).toThrow("no operations");
    expect(() => readOperations(null)).toThrow("no operations");
  });
});
