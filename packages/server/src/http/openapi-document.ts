// OpenAPI 3.1 from the validating schemas, and the page that renders it. The plugins must be registered
// before the routes, so a second, unreachable instance registers the routes again for the document. This file
// then completes the generated document, and relaxes it where it is too strict.

import { createHash } from "node:crypto";
import swagger from "@fastify/swagger";
import scalar from "@scalar/fastify-api-reference";
import Fastify from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { Registry } from "prom-client";
import { EXAMPLE_SESSION } from "./documented.ts";
import { allRoutes } from "./routes/all-routes.ts";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";
import { compileSerializer, compileValidator } from "./request.ts";

const APP_KEY = {
  type: "apiKey",
  in: "header",
  name: "SERVICE-APP-KEY",
  description: "Key of an App; `default` needs none",
} as const;
const USER_TOKEN = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description: "Token of a signed-in user of an App",
} as const;
const ADMIN_KEY = {
  type: "http",
  scheme: "bearer",
  description: "`COLLOQUY_ADMIN_KEY` of the service",
} as const;

const TAGS = [
  { name: "Sessions", description: "Conversations, by the id in the path" },
  { name: "Conversation", description: "Chats in the session of `X-Session-Id`" },
  { name: "Actions", description: "Questions and tool calls that wait for a person or client" },
  { name: "Users", description: "Signed-in users of an App" },
  { name: "Secrets", description: "Values that tools need and no model sees" },
  { name: "Control", description: "Models and Apps" },
  { name: "Operations", description: "Health and metrics" },
];

/**
 * Returns the document as JSON, the page (served beside the document and one level above `docs/scalar.js`), its
 * Content-Security-Policy, which allows this server only, and the script that renders it.
 */
export async function buildReference(parts: RouteParts, register: Registry) {
  const app: HttpApp = Fastify({ logger: false });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Colloquy",
        version: parts.version,
        description:
          "Holds conversations between people and assistants. `/api` is version 1: changes are additive only.",
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      tags: [
        ...TAGS,
        ...(parts.admin === null
          ? []
          : [{ name: "Administration", description: "For operators, with their key" }]),
      ],
      components: {
        securitySchemes: {
          appKey: APP_KEY,
          userToken: USER_TOKEN,
          ...(parts.admin !== null && { adminKey: ADMIN_KEY }),
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  await app.register(scalar, {
    routePrefix: "/docs",
    configuration: {
      url: "openapi.json",
      cdn: "docs/scalar.js",
      pageTitle: "Colloquy API",
      // No external requests: no fonts, proxy, telemetry or assistant.
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: "never",
      mcp: { disabled: true },
      agent: { disabled: true },
    },
  });
  await app.register(async (routes) => await allRoutes(routes.withTypeProvider(), parts, register));
  await app.ready();
  const page = await app.inject("/docs/");
  const script = await app.inject("/docs/js/scalar.js");
  const document = Buffer.from(
    JSON.stringify(
      withPluginTags(completeDocument(app.swagger(), parts.services.apps.get(DEFAULT_APP)?.models[0])),
    ),
  );
  await app.close();
  return { document, page: page.body, policy: pagePolicy(page.body), script: script.body };
}

/** Declares the tags of plugins' operations, which only the plugins know. */
function withPluginTags(document: ReturnType<typeof completeDocument>): object {
  const declared = document.tags ?? [];
  const used = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ tags = [] }) => tags),
  );
  const others = [...new Set(used)].filter((name) => !declared.some((tag) => tag.name === name));
  return {
    ...document,
    tags: [
      ...declared,
      ...others.map((name) => ({ name, description: `Operations of the plugin for ${name}` })),
    ],
  };
}

/**
 * Returns the Content-Security-Policy of the page. It allows the page's own script by its digest, and inline
 * styles, which the renderer sets.
 */
function pagePolicy(page: string): string {
  const inline = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "";
  const digest = createHash("sha256").update(inline).digest("base64");
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The used parts of an OpenAPI 3.1 document. */
export interface OpenApiDocument {
  servers?: readonly { readonly url: string }[];
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Record<string, unknown>; headers?: object };
}

interface Operation {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  security?: readonly Readonly<Record<string, readonly string[]>>[];
  requestBody?: {
    required?: boolean;
    readonly content: Record<string, { schema: Schema; example?: unknown }>;
  };
  readonly responses: Readonly<Record<string, { description: string; headers?: object }>>;
}

interface Parameter {
  readonly in: "query" | "path" | "header";
  readonly name: string;
  readonly schema: Schema;
  example?: unknown;
}

interface EventSchema {
  readonly properties: { readonly type: { readonly const: string } };
}

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: object;
  readonly example?: unknown;
  examples?: readonly unknown[];
}

/** A response header, and the statuses and operations whose responses have it; all if absent. */
interface DocumentedHeader {
  readonly description: string;
  readonly statuses?: readonly string[];
  readonly operations?: readonly string[];
  /** True if every such response has the header. */
  readonly required?: boolean;
}

const HEADERS: Readonly<Record<string, DocumentedHeader>> = {
  "X-Request-Id": { description: "Id of the request, in the log too", required: true },
  "Cache-Control": {
    description: "`no-store`, on event streams `no-store, no-transform`: a proxy must not compress events",
    required: true,
  },
  Vary: { description: "`Origin` where an answer depends on it" },
  "X-Content-Type-Options": { description: "`nosniff` where it is not a snapshot or a stream" },
  "Access-Control-Allow-Origin": { description: "The page's origin, where it may read answers" },
  "Access-Control-Expose-Headers": { description: "Headers that such a page may read" },
  "Timing-Allow-Origin": { description: "The page's origin, where it may read the protocol of its requests" },
  "Retry-After": {
    description: "Seconds after which the request may be sent again",
    statuses: ["429", "503", "507"],
  },
  "RateLimit-Policy": {
    description:
      "Budgets that the request was counted in, with quota `q` (in bytes, if `qu` says so) and window `w` in seconds, where the service is public",
  },
  RateLimit: {
    description: "What is left of each, `r`, for the next `t` seconds (draft-ietf-httpapi-ratelimit-headers)",
  },
  "WWW-Authenticate": { description: "How to authenticate", statuses: ["401"], required: true },
  ETag: {
    description: "Entity tag of the snapshot or the file, for `If-None-Match`",
    statuses: ["200", "206", "304"],
    operations: ["getState", "downloadFile"],
    required: true,
  },
  Link: {
    description: 'The next page, `rel="next"`, when there is one',
    statuses: ["200"],
    operations: ["listThreads", "listMessages", "adminListMessages", "listActions"],
  },
  "Content-Disposition": {
    description: "`attachment` with the name of the file",
    statuses: ["200", "206"],
    operations: ["downloadFile"],
    required: true,
  },
  "Content-Security-Policy": {
    description: "A browser that is made to show the file runs nothing of it",
    statuses: ["200", "206"],
    operations: ["downloadFile"],
    required: true,
  },
  "Accept-Ranges": {
    description: "`bytes`",
    statuses: ["200", "206", "304"],
    operations: ["downloadFile"],
    required: true,
  },
  "Content-Range": {
    description: "The part of the file, or its size",
    statuses: ["206", "416"],
    operations: ["downloadFile"],
    required: true,
  },
  "Preference-Applied": {
    description: "The `wait` that counted, if one was sent",
    statuses: ["200", "304"],
    operations: ["sendMessage", "getState"],
  },
  "X-Accel-Buffering": {
    description: "`no`: a proxy must pass events on at once",
    statuses: ["200"],
    operations: ["subscribe", "aiSdkChat", "aiSdkStream", "agUiRun", "agentStreamEvents"],
    required: true,
  },
  "X-Vercel-AI-UI-Message-Stream": {
    description: "`v1`: version of the AI SDK's UI message stream",
    statuses: ["200"],
    operations: ["aiSdkChat", "aiSdkStream"],
    required: true,
  },
};

/** The body of an upload, for which the generator knows no form. */
const FILE_BODY = {
  required: true,
  content: { "*/*": { schema: { type: "string", format: "binary" } } },
};

/** Returns a completed deep copy of a generated document. `model` is the default App's. */
function completeDocument(generated: object, model: string | undefined): OpenApiDocument {
  // Later versions may add fields to responses.
  const document = JSON.parse(JSON.stringify(generated), (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  ) as OpenApiDocument;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    if (operation.operationId === "uploadFile") operation.requestBody = FILE_BODY;
    relaxBody(operation);
    dropRepeatedExamples(operation);
    const parameters = operation.parameters ?? [];
    // The generator omits examples of transformed values, such as lower-cased ids.
    for (const parameter of parameters) {
      if (parameter.schema.format === "uuid" && parameter.in !== "query")
        parameter.example ??= EXAMPLE_SESSION;
      if (parameter.name === "rig") setExample(parameter, model);
    }
    // The key is optional: the default App needs none.
    operation.security ??= parameters.some(({ name }) => name === APP_KEY.name)
      ? [{}, { appKey: [] }, { userToken: [] }]
      : [];
    for (const [status, response] of Object.entries(operation.responses)) {
      if (response.description === "Default Response") response.description = "Done";
      response.headers = headersOf(operation.operationId, status);
    }
  }
  // A path, because the service does not know the address under which clients reach it.
  // Relative to the document, which a proxy may serve below a path prefix.
  document.servers = [{ url: "./" }];
  document.components.headers = Object.fromEntries(
    Object.entries(HEADERS).map(([name, { description, required = false }]) => [
      name,
      { description, required, schema: { type: "string" } },
    ]),
  );
  discriminate(document);
  dropUnused(document);
  return document;
}

function headersOf(operation: string, status: string): object {
  const names = Object.entries(HEADERS).filter(
    ([, { statuses, operations }]) =>
      (statuses?.includes(status) ?? true) && (operations?.includes(operation) ?? true),
  );
  return Object.fromEntries(names.map(([name]) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Adds the discriminator `type` of events, for client generators. */
function discriminate({ components }: OpenApiDocument): void {
  const union = components.schemas["UpdateEvent"] as { anyOf?: { $ref: string }[] } | undefined;
  if (union?.anyOf === undefined) return;
  const { anyOf, ...rest } = union;
  const mapping = anyOf.map(({ $ref }): [string, string] => {
    const schema = components.schemas[$ref.split("/").at(-1) ?? ""] as EventSchema;
    return [schema.properties.type.const, $ref];
  });
  const discriminator = { propertyName: "type", mapping: Object.fromEntries(mapping) };
  components.schemas["UpdateEvent"] = { ...rest, oneOf: anyOf, discriminator };
}

/**
 * Makes nullable bodies optional, which the generator cannot express, and shows their own example, not one
 * that is built from the examples of their fields.
 */
function relaxBody({ requestBody }: Operation): void {
  if (requestBody === undefined) return;
  for (const media of Object.values(requestBody.content)) {
    // The generator omits `examples` of transformed values.
    const { anyOf, example, ...rest } = media.schema;
    media.example ??= example;
    const alternatives = anyOf?.filter((schema) => schema.type !== "null") ?? [];
    const [only] = alternatives;
    if (only === undefined || alternatives.length === anyOf?.length) continue;
    requestBody.required = false;
    media.schema = alternatives.length === 1 ? { ...rest, ...only } : { ...rest, anyOf: alternatives };
  }
}

function setExample(parameter: Parameter, example: string | undefined): void {
  delete parameter.schema.examples;
  if (example === undefined) delete parameter.example;
  else parameter.example = example;
}

/**
 * Deletes the examples of query parameters that the body may contain too: a request with both is rejected.
 */
function dropRepeatedExamples({ parameters = [], requestBody }: Operation): void {
  const { properties = {} } = requestBody?.content["application/json"]?.schema ?? {};
  for (const parameter of parameters) {
    if (parameter.in !== "query" || !Object.hasOwn(properties, parameter.name)) continue;
    setExample(parameter, undefined);
  }
}

/** Removes unused schemas: the generator writes every schema twice, for requests and for responses. */
function dropUnused({ paths, components }: OpenApiDocument): void {
  const used = new Set<string>();
  const follow = (value: object): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(components.schemas[name] as object);
    }
  };
  follow(paths);
  for (const name of Object.keys(components.schemas)) if (!used.has(name)) delete components.schemas[name];
}
