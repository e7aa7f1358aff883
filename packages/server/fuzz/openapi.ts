// The operations of the service's OpenAPI document, as far as the fuzzer needs them.

export interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Operation {
  readonly method: string;
  /** With `{name}` for each path parameter. */
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  /** Schema of the JSON body, `null` if the operation takes none. */
  readonly body: JsonSchema | null;
  readonly bodyRequired: boolean;
}

const METHODS = new Set(["get", "put", "post", "delete", "patch", "head", "options"]);

/** Returns all operations of an OpenAPI 3 document. Throws if it has none. */
export function readOperations(document: unknown): Operation[] {
  const paths = entriesOf(entryOf(document, "paths"));
  const operations = paths.flatMap(([path, item]) => {
    const shared = entryOf(item, "parameters");
    return entriesOf(item)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        parameters: [...listOf(shared), ...listOf(entryOf(operation, "parameters"))].map((parameter) =>
          readParameter(resolve(document, parameter)),
        ),
        body: readBody(document, operation),
        bodyRequired: entryOf(resolve(document, entryOf(operation, "requestBody")), "required") === true,
      }));
  });
  if (operations.length === 0) throw new Error("The OpenAPI document has no operations");
  return operations;
}

function readParameter(parameter: unknown): OpenApiParameter {
  return {
    name: String(entryOf(parameter, "name")),
    in: entryOf(parameter, "in") as OpenApiParameter["in"],
    required: entryOf(parameter, "required") === true,
    schema: entryOf(parameter, "schema") ?? {},
  };
}

function readBody(document: unknown, operation: unknown): JsonSchema | null {
  const body = resolve(document, entryOf(operation, "requestBody"));
  const json = entryOf(entryOf(body, "content"), "application/json");
  const schema = resolve(document, entryOf(json, "schema"));
  return schema ?? null;
}

/** Resolves a `$ref` within the document. */
function resolve(document: unknown, value: unknown): unknown {
  const reference = entryOf(value, "$ref");
  if (typeof reference !== "string") return value;
  return reference
    .replace(/^#\//, "")
    .split("/")
    .reduce((at, name) => entryOf(at, name), document);
}

function entryOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
