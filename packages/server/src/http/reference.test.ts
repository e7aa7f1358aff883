import { createHash } from "node:crypto";
import { validate } from "@apidevtools/swagger-parser";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { startEdges } from "./testing/edge.ts";
import { OPERATIONS } from "./testing/operations.ts";

const { testEdge } = await startEdges();

interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly servers: readonly unknown[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly schemas: Record<string, { readonly examples?: readonly unknown[] }>;
  };
}
interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required: boolean }[];
  readonly requestBody?: { readonly required?: boolean };
  readonly responses: Record<
    string,
    { readonly description: string; readonly content?: Record<string, unknown> }
  >;
}

async function document(): Promise<Document> {
  const answer = await testEdge().app.inject("/openapi.json");
  expect(answer.statusCode).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  return answer.json<Document>();
}

describe("GET /openapi.json", () => {
  it("contains every operation with its parameters and answers", async () => {
    const { openapi, paths } = await document();
    expect(openapi).toMatch(/^3\.1\./);
    const found = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const parameters = (operation.parameters ?? []).map(
          ({ in: place, name, required }) => `${place} ${name}${required ? "" : "?"}`,
        );
        return {
          operation: `${method.toUpperCase()} ${path}`,
          parameters: parameters.toSorted(),
          body:
            operation.requestBody === undefined
              ? "none"
              : operation.requestBody.required
                ? "required"
                : "optional",
          statuses: Object.keys(operation.responses).map(Number),
        };
      }),
    );
    expect(found).toEqual(OPERATIONS);
  });

  it("describes each operation and each answer", async () => {
    const { paths } = await document();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { operationId, summary, tags, responses } of operations) {
      expect([operationId, summary, tags]).toEqual([operationId, expect.any(String), [expect.any(String)]]);
      for (const [status, { description, content }] of Object.entries(responses)) {
        expect([operationId, status, description]).not.toContain("Default Response");
        if (Number(status) < 400) continue;
        expect(content).toEqual({
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        });
      }
    }
  });

  it("names the used schemas, each with an example, and allows extra fields in answers", async () => {
    const { paths, components } = await document();
    const everything = JSON.stringify({ paths, components });
    for (const [name, schema] of Object.entries(components.schemas)) {
      expect([name, schema.examples?.length]).toEqual([name, 1]);
      expect(everything).toContain(`"#/components/schemas/${name}"`);
    }
    expect(everything).not.toContain('"additionalProperties":false');
  });

  it("gives examples that match their schemas", async () => {
    const whole = await document();
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addSchema(whole, "document");
    const mismatches = Object.entries(whole.components.schemas).flatMap(([name, { examples = [] }]) => {
      const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
      return examples.flatMap((example) => (validate(example) ? [] : { name, errors: validate.errors }));
    });
    expect(mismatches).toEqual([]);
  });

  it("names its server and the keys that each operation takes", async () => {
    const { servers, paths, components } = await document();
    expect(servers).toEqual([{ url: "./" }]);
    expect(components.securitySchemes).toEqual({
      appKey: expect.objectContaining({ type: "apiKey", in: "header", name: "SERVICE-APP-KEY" }),
      userToken: expect.objectContaining({ type: "http", scheme: "bearer" }),
    });
    for (const [path, methods] of Object.entries(paths)) {
      const token = { userToken: [] };
      const keys = path.startsWith("/api") ? [{}, { appKey: [] }, token] : [];
      const ofToken = /revoke|sessions\/{id}\/claim|refresh|users\/me/.test(path) ? [token] : null;
      const isOpen = path.endsWith("/siwe/nonce") || path === "/api/page";
      const ofSignIn = path.endsWith("/siwe/verify") ? [{}, token] : isOpen ? [] : null;
      const expected = ofToken ?? ofSignIn ?? keys;
      for (const { security } of Object.values(methods)) expect([path, security]).toEqual([path, expected]);
    }
  });

  it("is valid: every reference resolves, and every tag is described", async () => {
    const given = await document();
    const { tags, paths } = given;
    const used = Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap((one) => one.tags ?? []),
    );
    expect([...new Set(used)].toSorted()).toEqual(tags.map(({ name }) => name).toSorted());
    // `validate` resolves references in place, so call it last.
    await expect(validate(given as never)).resolves.toMatchObject({ openapi: given.openapi });
  });
});

describe("GET /docs", () => {
  it("is a page that loads files from this server and calls this server only", async () => {
    const { app } = testEdge();
    const page = await app.inject("/docs");
    expect(page.statusCode).toBe(200);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.body).not.toMatch(/https?:\/\//);
    expect(page.body).toContain('"url": "openapi.json"');
    const [, source] = /<script src="([^"]+)">/.exec(page.body) ?? [];
    expect(source).toBe("docs/scalar.js");
    const script = await app.inject(`/${source}`);
    expect(script.statusCode).toBe(200);
    expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(script.body).toContain("createApiReference");
  });

  it("may run its own script only", async () => {
    const page = await testEdge().app.inject("/docs");
    const policy = String(page.headers["content-security-policy"]);
    const [, inline = ""] = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(page.body) ?? [];
    expect(policy).toContain(`'sha256-${createHash("sha256").update(inline).digest("base64")}'`);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toMatch(/https?:|\*/);
  });
});

it("builds the reference again after a failure", async () => {
  const { app, services } = testEdge();
  await app.ready();
  const { conversations } = services;
  let isFailing = true;
  // The reference reads it when the routes are described; the served routes have read it before.
  Object.defineProperty(services, "conversations", {
    get: () => {
      if (isFailing) throw new Error("EMFILE: too many open files");
      return conversations;
    },
  });
  const statuses = async () =>
    await Promise.all(
      ["/openapi.json", "/docs", "/docs/scalar.js"].map(async (url) => (await app.inject(url)).statusCode),
    );
  expect(await statuses()).toEqual([500, 500, 500]);
  isFailing = false;
  expect(await statuses()).toEqual([200, 200, 200]);
});
