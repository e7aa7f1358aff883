// Completes the generated OpenAPI document and relaxes what is too strict.

import { EXAMPLE_SESSION } from "./documented.ts";

/** The used parts of an OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Record<string, unknown>; headers?: object };
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly schema: Schema; example?: unknown }[];
  readonly requestBody?: { required?: boolean; readonly content: Record<string, { schema: Schema }> };
  readonly responses: Readonly<Record<string, { description: string; headers?: object }>>;
}

interface EventSchema {
  readonly properties: { readonly type: { readonly const: string } };
}

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
}

/** Answers that carry a header: all, those of these statuses, or successful ones of these operations. */
interface DocumentedHeader {
  readonly description: string;
  readonly statuses?: readonly string[];
  readonly operations?: readonly string[];
  /** True if each of them carries it. */
  readonly required?: boolean;
}

const HEADERS: Readonly<Record<string, DocumentedHeader>> = {
  "X-Request-Id": { description: "Id of the request, in the log too", required: true },
  "Cache-Control": { description: "Always `no-store`", required: true },
  Vary: { description: "`Origin` where an answer depends on it" },
  "X-Content-Type-Options": { description: "`nosniff` where it is not a snapshot or a stream" },
  "Access-Control-Allow-Origin": { description: "The page's origin, where it may read answers" },
  "Access-Control-Expose-Headers": { description: "Headers that such a page may read" },
  "Retry-After": {
    description: "Seconds after which the request may be sent again",
    statuses: ["429", "503", "507"],
  },
  "RateLimit-Policy": {
    description:
      "Budgets that the request was counted in, with quota `q` and window `w` in seconds, where the service is public",
  },
  RateLimit: {
    description: "What is left of each, `r`, for the next `t` seconds (draft-ietf-httpapi-ratelimit-headers)",
  },
  "WWW-Authenticate": { description: "How to send a key", statuses: ["401"], required: true },
  ETag: {
    description: "Entity tag of the snapshot, for `If-None-Match`",
    statuses: ["200", "304"],
    operations: ["getState"],
    required: true,
  },
  Link: {
    description: 'The next page, `rel="next"`, when there is one',
    statuses: ["200"],
    operations: ["listThreads", "listMessages", "adminListMessages"],
  },
  "Preference-Applied": {
    description: "The `wait` that counted, where one was sent",
    statuses: ["200", "304"],
    operations: ["sendMessage", "getState"],
  },
  "X-Accel-Buffering": {
    description: "`no`: a proxy must pass events on at once",
    statuses: ["200"],
    operations: ["subscribe"],
    required: true,
  },
};

/** Returns a completed deep copy of a generated document. */
export function completeDocument(generated: object): OpenApiDocument {
  // Responses may gain fields: changes are additive.
  const document = JSON.parse(JSON.stringify(generated), (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  ) as OpenApiDocument;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    relaxBody(operation);
    // The generator omits examples of transformed values, such as lower-cased ids.
    for (const parameter of operation.parameters ?? []) {
      if (parameter.schema.format === "uuid") parameter.example ??= EXAMPLE_SESSION;
    }
    for (const [status, response] of Object.entries(operation.responses)) {
      if (response.description === "Default Response") response.description = "Done";
      response.headers = headersOf(operation.operationId, status);
    }
  }
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

/** Makes nullable bodies optional, which the generator cannot express. */
function relaxBody({ requestBody }: Operation): void {
  if (requestBody === undefined) return;
  for (const media of Object.values(requestBody.content)) {
    const { anyOf, ...rest } = media.schema;
    const alternatives = anyOf?.filter((schema) => schema.type !== "null") ?? [];
    const [only] = alternatives;
    if (only === undefined || alternatives.length === anyOf?.length) continue;
    requestBody.required = false;
    media.schema = alternatives.length === 1 ? { ...rest, ...only } : { ...rest, anyOf: alternatives };
  }
}

/** Removes unused schemas: the generator emits each for requests and for responses. */
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
