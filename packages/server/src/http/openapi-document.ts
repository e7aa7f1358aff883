// What the generator of the document does not say, or says too strictly.

import { EXAMPLE_SESSION } from "./documented.ts";

/** The parts of an OpenAPI 3.1 document that are looked at here. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly schema: Schema; example?: unknown }[];
  readonly requestBody?: { required?: boolean; readonly content: Record<string, { schema: Schema }> };
  readonly responses: Readonly<Record<string, { description: string; headers?: object }>>;
}

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
}

const header = (description: string): object => ({ description, schema: { type: "string" } });
const REQUEST_ID = { "X-Request-Id": header("Id of the request, in the log too") };
const RETRY_AFTER = { "Retry-After": header("Seconds after which the request may be sent again") };
const OF_OPERATION: Readonly<Record<string, object>> = {
  getState: { ETag: header("Entity tag of the snapshot, for `If-None-Match`") },
  listThreads: { Link: header('The next page, `rel="next"`, when there is one') },
};

/** Completes a generated document. The answer shares nothing with `generated`. */
export function completeDocument(generated: object): OpenApiDocument {
  // Objects of answers may have more fields one day: changes are additive.
  const document = JSON.parse(JSON.stringify(generated), (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  ) as OpenApiDocument;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    relaxBody(operation);
    // The generator leaves examples out where a value is changed as it is read: ids go to lower case.
    for (const parameter of operation.parameters ?? []) {
      if (parameter.schema.format === "uuid") parameter.example ??= EXAMPLE_SESSION;
    }
    for (const [status, response] of Object.entries(operation.responses)) {
      if (response.description === "Default Response") response.description = "Done";
      response.headers = {
        ...REQUEST_ID,
        ...(["429", "503", "507"].includes(status) && RETRY_AFTER),
        ...(status.startsWith("2") && OF_OPERATION[operation.operationId]),
      };
    }
  }
  dropUnused(document);
  return document;
}

/** A body that may be null may be absent, which the generator has no word for. */
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

/** The generator names each schema twice, for requests and for answers; one of them refers to nothing. */
function dropUnused({ paths, components }: OpenApiDocument): void {
  const used = (name: string, where: object): boolean =>
    JSON.stringify(where).includes(`"#/components/schemas/${name}"`);
  for (const name of Object.keys(components.schemas)) {
    const others = Object.fromEntries(Object.entries(components.schemas).filter(([other]) => other !== name));
    if (!used(name, paths) && !used(name, others)) delete components.schemas[name];
  }
}
