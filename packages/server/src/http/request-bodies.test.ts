import type { InjectOptions } from "fastify";
import { describe, expect, it } from "vitest";
import type { OpenApiDocument } from "./openapi-document.ts";
import { ADMIN_KEY, startEdges } from "./testing/edge.ts";

const edges = await startEdges();

/**
 * Content types that a page of another origin may send without a preflight (Fetch standard,
 * "CORS-safelisted").
 */
const SAFELISTED = [
  "text/plain;charset=UTF-8",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "",
];

interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly takesBody: boolean;
  readonly needsSession: boolean;
}

function givenEdge() {
  return edges.testEdge({}, { hasAdmin: true });
}

async function allRoutes(): Promise<readonly Route[]> {
  const { paths } = (await givenEdge().app.inject("/openapi.json")).json<OpenApiDocument>();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase() as Route["method"],
      path,
      takesBody: requestBody !== undefined,
      needsSession: (parameters as readonly { name?: string; required?: boolean }[]).some(
        ({ name, required }) => name === "X-Session-Id" && required === true,
      ),
    })),
  );
}

/** Returns the status and the problem code of a request that is valid except for its body. */
async function statusOf({ method, path }: Route, type: string | null, payload: string): Promise<string> {
  const edge = givenEdge();
  await edge.send("POST", "/api/sessions");
  const url = `${path}?message=hi&public_key=a&rig=demo/assistant&client_id=c`;
  const headers: InjectOptions["headers"] = {
    authorization: `Bearer ${ADMIN_KEY}`,
    accept: "*/*",
    ...(type !== null && type !== "" && { "content-type": type }),
  };
  const answer = await edge.send(method, url, { headers, ...(type !== null && { payload }) });
  const isProblem = String(answer.headers["content-type"]).includes("problem");
  return `${answer.statusCode} ${isProblem ? answer.json<{ code: string }>().code : ""}`;
}

const routes = (await allRoutes()).filter(({ path }) => path !== "/api/updates");
const named = (some: readonly Route[]) =>
  some.map((route) => [`${route.method} ${route.path}`, route] as const);
// A file is streamed, and of any type.
const takers = routes.filter(({ takesBody, path }) => takesBody && path !== "/api/files");

describe("the body of a request", () => {
  it.each(named(takers.filter(({ needsSession }) => needsSession)))(
    "is parsed as application/json, as text/plain and without a type if X-Session-Id is required: %s",
    async (_name, route) => {
      const expected = await statusOf(route, "application/json", "{}");
      expect(expected).not.toContain("415");
      for (const type of ["text/plain;charset=UTF-8", "text/plain", ""]) {
        expect(await statusOf(route, type, "{}")).toBe(expected);
        expect(await statusOf(route, type, "hello")).toBe("400 json_invalid");
      }
      for (const type of ["text/html", "application/x-www-form-urlencoded", "text/plain;charset=latin1"]) {
        expect(await statusOf(route, type, "{}")).toBe("415 media_type_unsupported");
      }
    },
  );

  it.each(named(takers.filter(({ needsSession }) => !needsSession)))(
    "is parsed only as application/json if the header is not required: %s",
    async (_name, route) => {
      expect(await statusOf(route, "application/json", "{}")).not.toContain("415");
      expect(await statusOf(route, "application/merge-patch+json", "{}")).not.toContain("415");
      for (const type of SAFELISTED) {
        expect(await statusOf(route, type, "{}")).toBe("415 media_type_unsupported");
      }
    },
  );

  it.each(named(routes.filter(({ takesBody }) => !takesBody)))(
    "is ignored if none is specified: %s",
    async (_name, route) => {
      const expected = await statusOf(route, null, "");
      for (const type of ["application/json", "text/html", "nonsense", ...SAFELISTED]) {
        expect([type, await statusOf(route, type, "{")]).toEqual([type, expected]);
      }
    },
  );

  it.each([
    ["a long number", `{"message":${"1".repeat(200)}5}`],
    ["a long repeated name", `{"${"n".repeat(9_000)}":1,"${"n".repeat(9_000)}":2}`],
  ])("is quoted only in part when it has %s", async (_what, payload) => {
    const headers = { "content-type": "application/json" };
    const answer = await givenEdge().send("POST", "/api/chat", { headers, payload });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toMatch(/n{90}|1{90}/);
    expect(answer.body.length).toBeLessThan(600);
  });

  it("covers routes of every kind", () => {
    const kinds = new Set(routes.map(({ takesBody, needsSession }) => `${takesBody} ${needsSession}`));
    expect(kinds.size).toBe(4);
    expect(routes.length).toBeGreaterThan(25);
  });
});
