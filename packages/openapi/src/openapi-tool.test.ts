import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import { type OperationPlan, readOperation, writtenOperations } from "./operation.ts";
import { buildRequest, type OperationRequest } from "./openapi-tool.ts";
import { reservedNames } from "./openapi-tools.ts";

interface Given {
  readonly path?: string;
  readonly method?: string;
  readonly parameters?: JsonValue[];
  readonly requestBody?: JsonObject;
  readonly components?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly base?: string;
}

function planOf({ path = "/pets", method = "get", headers = {}, components = {}, ...operation }: Given): {
  plan: OperationPlan;
  leftOut: string[];
} {
  const document: JsonObject = {
    components,
    paths: { [path]: { [method]: { ...operation } as JsonObject } },
  };
  const leftOut: string[] = [];
  const [written] = writtenOperations(document, (_, reason) => leftOut.push(reason));
  const isReserved = reservedNames(document, headers);
  const plan = readOperation(document, written!, { isReserved, onOmitted: (what) => leftOut.push(what) });
  return { plan, leftOut };
}

function request(given: Given, input: JsonObject): OperationRequest {
  const { base = "https://api.test/v1", headers = {} } = given;
  return buildRequest(planOf(given).plan, input, { base: new URL(base), headers, callId: "call-1" });
}

const inPath = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  in: "path",
  required: true,
  ...more,
});
const inQuery = (name: string, more: JsonObject = {}): JsonObject => ({ name, in: "query", ...more });
const json = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
  content: { "application/json": { schema } },
  ...more,
});

describe("the path of a request", () => {
  const given = { path: "/pets/{id}/toys", parameters: [inPath("id")] };

  it.each([
    ["https://api.test", "https://api.test/pets/7/toys"],
    ["https://api.test/", "https://api.test/pets/7/toys"],
    ["https://api.test/v1/", "https://api.test/v1/pets/7/toys"],
    ["http://10.0.0.1:8080/a/b?version=2", "http://10.0.0.1:8080/a/b/pets/7/toys?version=2"],
  ])("starts with the base URL %s", (base, expected) => {
    expect(request({ ...given, base }, { id: 7 }).url.href).toBe(expected);
  });

  it("cannot be changed by any value", () => {
    const value = fc.oneof(
      fc.string(),
      fc.string({
        unit: fc.constantFrom("/", ".", "\\", "?", "#", "%", "2", "e", "f", "a", ";", "@", ":", " ", "\n"),
      }),
      fc.string({ unit: "binary" }),
      fc.webUrl(),
    );
    fc.assert(
      fc.property(value, (id) => {
        let url: URL;
        try {
          ({ url } = request(given, { id }));
        } catch {
          return;
        }
        expect([url.origin, url.search, url.hash, url.username]).toEqual(["https://api.test", "", "", ""]);
        const segments = url.pathname.split("/");
        expect(segments.toSpliced(3, 1)).toEqual(["", "v1", "pets", "toys"]);
        expect(decodeURIComponent(segments[3]!)).toBe(id.toWellFormed());
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(["", ".", "..", "../../engine/src", "a/../b", "..\\admin", "a/.", "./a"])("rejects %j", (id) => {
    expect(() => request(given, { id })).toThrow("id cannot be");
  });

  it.each([
    ["a/b", "a%2Fb"],
    ["a?b#c", "a%3Fb%23c"],
    ["%2e%2e", "%252e%252e"],
    ["...", "..."],
    ["a..b", "a..b"],
    ["ü", "%C3%BC"],
    ["\ud800", "%EF%BF%BD"],
  ])("encodes %j as %s", (id, expected) => {
    expect(request(given, { id }).url.pathname).toBe(`/v1/pets/${expected}/toys`);
  });

  it("serializes arrays and objects in the style simple", () => {
    const at = (more: JsonObject, id: JsonValue): string =>
      request({ path: "/{id}", parameters: [inPath("id", more)] }, { id }).url.pathname;
    expect(at({}, ["a", "b,c"])).toBe("/v1/a,b%2Cc");
    expect(at({}, { a: 1, b: 2 })).toBe("/v1/a,1,b,2");
    expect(at({ explode: true }, { a: 1, b: 2 })).toBe("/v1/a=1,b=2");
    expect(() => at({}, [".."])).toThrow("id cannot be");
    expect(() => at({}, ["a", "b/../../c"])).toThrow("id cannot be");
  });

  it("requires all its parameters", () => {
    expect(() => request(given, {})).toThrow("The call needs a value for id.");
    expect(() => planOf({ path: "/pets/{id}" })).toThrow("No parameter defines {id} in its path.");
    expect(() => planOf({ path: "/{id}", parameters: [inPath("id", { style: "matrix" })] })).toThrow(
      "style matrix",
    );
  });
});

describe("the query of a request", () => {
  const search = (more: JsonObject, value: JsonValue, name = "q"): string =>
    request({ parameters: [inQuery(name, more)] }, { [name]: value }).url.search;

  it.each<[JsonObject, JsonValue, string]>([
    [{}, "a b&c=d#e", "?q=a%20b%26c%3Dd%23e"],
    [{}, 7, "?q=7"],
    [{}, false, "?q=false"],
    [{}, ["a", "b&c"], "?q=a&q=b%26c"],
    [{ explode: false }, ["a", "b,c"], "?q=a,b%2Cc"],
    [{ style: "spaceDelimited", explode: false }, ["a", "b"], "?q=a%20b"],
    [{ style: "pipeDelimited", explode: false }, ["a", "b"], "?q=a%7Cb"],
    [{}, { a: 1, "b&": 2 }, "?a=1&b%26=2"],
    [{ explode: false }, { a: 1, b: 2 }, "?q=a,1,b,2"],
    [{ style: "deepObject" }, { a: 1, b: { c: ["x", { d: 2 }] } }, "?q[a]=1&q[b][c][0]=x&q[b][c][1][d]=2"],
    // stripe/openapi#161, stripe/stripe-cli#47: a service that refuses `q=x&q=y`.
    [{ style: "deepObject", explode: true }, ["x", "y"], "?q[0]=x&q[1]=y"],
    [{ style: "deepObject" }, { "a]=1&evil": 1 }, "?q[a%5D%3D1%26evil]=1"],
    [{ content: { "application/json": { schema: {} } } }, { a: [1] }, "?q=%7B%22a%22%3A%5B1%5D%7D"],
  ])("with %j serializes %j as %s", (more, value, expected) => {
    expect(search(more, value)).toBe(expected);
  });

  it("contains the given parameters in the document's order", () => {
    const parameters = [inQuery("b"), inQuery("a"), inQuery("c")];
    expect(request({ parameters }, { a: "1", b: "2" }).url.search).toBe("?b=2&a=1");
    expect(request({ parameters: [inQuery("constructor")] }, {}).url.search).toBe("");
  });

  it("omits an optional parameter with an unsupported style, and rejects an operation that requires it", () => {
    const odd = inQuery("q", { style: "other" });
    const { plan, leftOut } = planOf({ parameters: [odd] });
    expect(plan.parameters).toEqual([]);
    expect(leftOut).toEqual(["The parameter q has the style other, which is not supported."]);
    expect(() => planOf({ parameters: [{ ...odd, required: true }] })).toThrow("style other");
  });
});

describe("the headers of a request", () => {
  const inHeader = (name: string): JsonObject => ({ name, in: "header", required: true });

  it("contain the model's values, overridden by configured headers", () => {
    const given = {
      parameters: [inHeader("X-Trace"), inHeader("X-Tenant")],
      headers: { "x-tenant": "ours" },
    };
    const { init } = request(given, { "X-Trace": ["a", 1], "X-Tenant": "theirs" });
    expect(Object.fromEntries(init.headers)).toMatchObject({ "x-trace": "a,1", "x-tenant": "ours" });
    expect(planOf(given).plan.inputSchema["required"]).toEqual(["X-Trace"]);
  });

  it.each([
    "Authorization",
    "COOKIE",
    "Host",
    "Content-Type",
    "Content-Length",
    "Transfer-Encoding",
    "Idempotency-Key",
    "Proxy-Authorization",
    "X-Forwarded-For",
    "X-HTTP-Method-Override",
    "Sec-Fetch-Site",
  ])("do not let the model set %s", (name) => {
    const given = { parameters: [inHeader(name)] };
    expect(planOf(given).plan.inputSchema["properties"]).toEqual({});
    expect(request(given, { [name]: "mine" }).init.headers.get(name)).not.toBe("mine");
  });

  it("do not let the model set the parameters of security schemes", () => {
    const components = {
      securitySchemes: {
        a: { type: "apiKey", in: "header", name: "X-Api-Key" },
        b: { type: "apiKey", in: "query", name: "key" },
        c: { type: "apiKey", in: "cookie", name: "session" },
      },
    };
    const parameters = [
      inHeader("x-api-key"),
      inQuery("key"),
      { name: "session", in: "cookie" },
      inQuery("session"),
    ];
    const { plan } = planOf({ components, parameters });
    expect(Object.keys(plan.inputSchema["properties"] as JsonObject)).toEqual(["session"]);
    expect(plan.parameters[0]?.place).toBe("query");
  });

  it("reject values that inject other headers", () => {
    for (const value of ["a\r\nauthorization: mine", "a\nb", "\0", "✓"]) {
      expect(() => request({ parameters: [inHeader("X-A")] }, { "X-A": value })).toThrow(
        "that are invalid in a header",
      );
    }
    expect(() => planOf({ parameters: [inHeader("X A\n")] })).toThrow("is not valid");
  });

  it("contain encoded cookies, unless a cookie header is configured", () => {
    const parameters = [
      { name: "a", in: "cookie" },
      { name: "b", in: "cookie" },
    ];
    const cookie = (headers: Readonly<Record<string, string>>): string | null =>
      request({ parameters, headers }, { a: "1; b=2", b: [1, 2] }).init.headers.get("cookie");
    expect(cookie({})).toBe("a=1%3B%20b%3D2; b=1,2");
    expect(cookie({ Cookie: "session=ours" })).toBe("session=ours");
    const { plan } = planOf({ parameters, headers: { Cookie: "session=ours" } });
    expect(plan.inputSchema["properties"]).toEqual({});
  });

  it.each([
    ["get", "read", null],
    ["head", "read", null],
    ["options", "read", null],
    ["put", "idempotent", "call-1"],
    ["delete", "idempotent", "call-1"],
    ["post", "unsafe", "call-1"],
    ["patch", "unsafe", "call-1"],
  ])("of %s, which is %s, contain the idempotency key %s", (method, effect, key) => {
    const { init } = request({ method }, {});
    expect([init.method, init.headers.get("idempotency-key")]).toEqual([method.toUpperCase(), key]);
    expect(planOf({ method }).plan.effect).toBe(effect);
  });
});

describe("the body of a request", () => {
  const pet = {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string" },
      id: { type: "integer" },
      "tag list": { type: "array", items: {} },
    },
  };

  it("is built from inputs beside the parameters, under distinct names", () => {
    const given = {
      path: "/pets/{id}",
      method: "put",
      parameters: [inPath("id"), inQuery("name")],
      requestBody: json(pet, { required: true }),
    };
    const { plan } = planOf(given);
    expect(plan.inputSchema).toMatchObject({
      required: ["id", "name_body"],
      additionalProperties: false,
      properties: {
        id: {},
        name: {},
        name_body: { type: "string" },
        id_body: { type: "integer" },
        tag_list: {},
      },
    });
    const input = { id: 1, name: "query", name_body: "Ada", id_body: 2, tag_list: ["a"] };
    const { url, init } = request(given, input);
    expect([url.pathname, url.search]).toEqual(["/v1/pets/1", "?name=query"]);
    expect(JSON.parse(init.body ?? "")).toEqual({ name: "Ada", id: 2, "tag list": ["a"] });
    expect(init.headers.get("content-type")).toBe("application/json");
  });

  it.each<[string, JsonObject]>([
    ["is an array", { type: "array", items: { type: "integer" } }],
    ["has alternatives", { oneOf: [pet, { type: "string" }] }],
    ["allows additional properties", { ...pet, additionalProperties: true }],
    ["has no schema", {}],
  ])("is one input if the body %s", (_, schema) => {
    const given = { method: "post", requestBody: json(schema, { required: true }) };
    expect(planOf(given).plan.inputSchema["required"]).toEqual(["body"]);
    expect(request(given, { body: [1, { a: null }] }).init.body).toBe('[1,{"a":null}]');
  });

  it("is absent if it is optional and none of its fields is given", () => {
    const given = { method: "post", requestBody: json(pet) };
    expect(planOf(given).plan.inputSchema["required"]).toBeUndefined();
    const { init } = request(given, {});
    expect([init.body, init.headers.get("content-type")]).toEqual([null, null]);
    expect(
      request(
        { method: "post", requestBody: json({ type: "object", properties: { a: {} } }, { required: true }) },
        {},
      ).init.body,
    ).toBe("{}");
  });

  it("may have another JSON media type", () => {
    for (const type of [
      "application/merge-patch+json",
      "application/json; charset=utf-8",
      "application/vnd.api+json",
    ]) {
      const given = {
        method: "patch",
        requestBody: { content: { "text/plain": {}, [type]: { schema: pet } } },
      };
      expect(request(given, { name: "Ada" }).init.headers.get("content-type")).toBe(type);
    }
  });

  it("is omitted if it has another media type, or its operation is rejected if it requires one", () => {
    const content = { "multipart/form-data": {}, "application/xml": {} };
    const { plan, leftOut } = planOf({ method: "post", requestBody: { content } });
    expect([plan.body, plan.inputSchema["properties"]]).toEqual([null, {}]);
    expect(leftOut).toEqual([
      "Its body is multipart/form-data or application/xml, and only JSON and forms without files are supported.",
    ]);
    expect(() => planOf({ method: "post", requestBody: { content, required: true } })).toThrow(
      "only JSON and forms without files are supported",
    );
  });

  it("is not sent with GET", () => {
    expect(request({ requestBody: json(pet, { required: true }) }, {}).init.body).toBeNull();
  });
});

describe("an operation of a document", () => {
  it("inherits the parameters of its path, and resolves references", () => {
    const document: JsonObject = {
      components: {
        parameters: { limit: inQuery("limit", { schema: { type: "integer" }, description: "At most." }) },
        pathItems: {
          pets: {
            parameters: [inQuery("a", { schema: { type: "string" } }), inQuery("b")],
            get: {
              parameters: [
                inQuery("a", { schema: { type: "boolean" } }),
                { $ref: "#/components/parameters/limit" },
              ],
            },
          },
        },
      },
      paths: {
        "/pets": { $ref: "#/components/pathItems/pets" },
        "/bad": { $ref: "elsewhere.yaml" },
        "x-own": {},
      },
    };
    const leftOut: string[] = [];
    const [written, ...others] = writtenOperations(document, (path) => leftOut.push(path));
    expect([others, leftOut]).toEqual([[], ["/bad"]]);
    const options = { isReserved: () => false, onOmitted: () => undefined };
    expect(readOperation(document, written!, options)).toMatchObject({
      id: "get_pets",
      title: "",
      description: "GET /pets",
      inputSchema: {
        properties: { a: { type: "boolean" }, b: {}, limit: { type: "integer", description: "At most." } },
      },
    });
  });

  it("is described by its summary and description, shortened if necessary", () => {
    const describeWith = (more: JsonObject): string => {
      const document = { paths: { "/a/{b}/c.d": { get: { parameters: [inPath("b")], ...more } } } };
      const [written] = writtenOperations(document, () => undefined);
      return readOperation(document, written!, { isReserved: () => false, onOmitted: () => undefined })
        .description;
    };
    expect(describeWith({ summary: "Short.", description: "Long." })).toBe("Short.\nLong.");
    expect(describeWith({ summary: "Same.", description: "Same." })).toBe("Same.");
    expect(describeWith({ summary: "Old.", deprecated: true })).toBe("Old.\nDeprecated.");
    expect(describeWith({ description: "a\0b" })).toBe("ab");
    expect(describeWith({ description: "x".repeat(5_000) })).toHaveLength(1_000);
    expect(describeWith({ summary: 1 })).toBe("GET /a/{b}/c.d");
  });

  it.each([
    ["/", "get_root"],
    ["/pets/{petId}/toys", "get_pets_petId_toys"],
    ["/v1.0/a-b", "get_v1_0_a_b"],
  ])("is named after its method and path if it has no id: %s, %s", (path, id) => {
    const document = { paths: { [path]: { get: {}, trace: {} } } };
    expect(writtenOperations(document, () => undefined).map((written) => written.id)).toEqual([id]);
  });
});
