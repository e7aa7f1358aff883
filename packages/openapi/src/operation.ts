// Converts an operation of an OpenAPI document to a plan for offering and calling it as a tool.

import { isJsonObject, type JsonObject, type ToolEffect } from "@colloquy/engine/tool-source";
import { type BodyPlan, readBody } from "./body.ts";
import { cutText, listAt, objectAt, textAt, follow } from "./fields.ts";
import { InputNames, type ParameterPlace, type ParameterPlan } from "./parameter.ts";
import { SchemaReader } from "./schema.ts";

export interface OperationPlan {
  /** The operation's id, or its method and path if it has none: `get_pets_id`. */
  readonly id: string;
  /** The method in upper case. */
  readonly method: string;
  /** The path with parameter names in braces. */
  readonly path: string;
  readonly effect: ToolEffect;
  /** The operation's summary; may be empty. */
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly parameters: readonly ParameterPlan[];
  readonly body: BodyPlan | null;
}

/** An operation as the document contains it. */
export interface WrittenOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

export interface OperationOptions {
  /** Returns true for a parameter that the model must not set. */
  readonly isReserved: (place: ParameterPlace, name: string) => boolean;
  /** Called if a part of the operation is omitted. */
  readonly onOmitted: (what: string) => void;
}

/** Effects by method (RFC 9110 section 9.2); operations with other methods are not offered. */
const effects: Readonly<Record<string, ToolEffect>> = {
  get: "read",
  head: "read",
  options: "read",
  put: "idempotent",
  delete: "idempotent",
  post: "unsafe",
  patch: "unsafe",
};

const places: Readonly<Record<ParameterPlace, readonly ParameterPlan["style"][]>> = {
  path: ["simple"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

const maximumDescription = 1_000;
/** A token, as required for names of headers and cookies (RFC 9110 section 5.6.2). */
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Returns all callable operations of a document in its order. Calls `onOmitted` for unreadable paths. */
export function writtenOperations(
  document: JsonObject,
  onOmitted: (path: string, reason: string) => void,
): readonly WrittenOperation[] {
  return Object.entries(objectAt(document, "paths") ?? {}).flatMap(([path, value]) => {
    if (!path.startsWith("/")) return [];
    try {
      const { value: item } = follow(document, value);
      return isJsonObject(item) ? operationsOf(path, item) : [];
    } catch (error) {
      onOmitted(path, error instanceof Error ? error.message : "It cannot be read.");
      return [];
    }
  });
}

function operationsOf(path: string, item: JsonObject): readonly WrittenOperation[] {
  return Object.keys(effects).flatMap((method) => {
    const operation = objectAt(item, method);
    if (operation === null) return [];
    return [{ id: textAt(operation, "operationId") || idOf(method, path), method, path, item, operation }];
  });
}

/** @throws Error with the reason if the operation cannot be offered. */
export function readOperation(
  document: JsonObject,
  written: WrittenOperation,
  options: OperationOptions,
): OperationPlan {
  const { id, method, path, operation } = written;
  const schemas = new SchemaReader(document);
  const names = new InputNames();
  const properties: Array<readonly [string, JsonObject]> = [];
  const required: string[] = [];
  const parameters: ParameterPlan[] = [];
  for (const parameter of parametersOf(document, written)) {
    const plan = readParameter(parameter, names, options);
    if (plan === null) continue;
    parameters.push(plan);
    properties.push([plan.input, parameterSchema(parameter, schemas)]);
    if (parameter["required"] === true || plan.place === "path") required.push(plan.input);
  }
  checkPath(path, parameters);
  const body = readBody(document, operation["requestBody"], { method, schemas, names, ...options });
  properties.push(...(body?.properties ?? []));
  required.push(...(body?.required ?? []));
  const description = describe(operation) || `${method.toUpperCase()} ${path}`;
  return {
    id,
    method: method.toUpperCase(),
    path,
    effect: effects[method] ?? "unsafe",
    title: textAt(operation, "summary"),
    description: cutText(description, maximumDescription),
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    parameters,
    body: body?.plan ?? null,
  };
}

/** Returns the parameters of the path item, overridden by those of the operation. */
function parametersOf(document: JsonObject, { item, operation }: WrittenOperation): readonly JsonObject[] {
  const byKey = new Map<string, JsonObject>();
  for (const value of [...listAt(item, "parameters"), ...listAt(operation, "parameters")]) {
    const { value: parameter } = follow(document, value);
    if (!isJsonObject(parameter)) continue;
    byKey.set(`${textAt(parameter, "in")} ${textAt(parameter, "name")}`, parameter);
  }
  return [...byKey.values()];
}

/** Returns the parameter; `null` for one that the model does not set. */
function readParameter(
  parameter: JsonObject,
  names: InputNames,
  { isReserved, onOmitted }: OperationOptions,
): ParameterPlan | null {
  const name = textAt(parameter, "name");
  const place = textAt(parameter, "in");
  if (name === "" || !isPlace(place)) {
    throw new Error("It has a parameter without a name, or in an unknown place.");
  }
  if (isReserved(place, name)) return null;
  const shown = cutText(name, 100);
  if ((place === "header" || place === "cookie") && !tokenPattern.test(name)) {
    throw new Error(`The name of its ${place} ${shown} is not valid.`);
  }
  const styles = places[place];
  const said = textAt(parameter, "style");
  const style = styles.find((known) => said === "" || known === said);
  if (style === undefined) {
    const what = `The parameter ${shown} has the style ${cutText(said, 100)}, which is not supported.`;
    if (parameter["required"] === true || place === "path") throw new Error(what);
    onOmitted(what);
    return null;
  }
  const explode = typeof parameter["explode"] === "boolean" ? parameter["explode"] : style === "form";
  const isJson = objectAt(parameter, "content") !== null;
  return { input: names.give(name, place), name, place, style, explode, isJson };
}

function parameterSchema(parameter: JsonObject, schemas: SchemaReader): JsonObject {
  const [media = null] = Object.values(objectAt(parameter, "content") ?? {});
  const schema = schemas.read(isJsonObject(media) ? media["schema"] : parameter["schema"]);
  const description = textAt(parameter, "description");
  return description === "" ? schema : { ...schema, description: cutText(description, 500) };
}

/** @throws Error if the path has a placeholder without a parameter. */
function checkPath(path: string, parameters: readonly ParameterPlan[]): void {
  for (const [, name = ""] of path.matchAll(/\{([^{}]*)\}/g)) {
    if (!parameters.some((parameter) => parameter.place === "path" && parameter.name === name)) {
      throw new Error(`No parameter defines {${name.slice(0, 100)}} in its path.`);
    }
  }
}

function describe(operation: JsonObject): string {
  const texts = new Set([textAt(operation, "summary").trim(), textAt(operation, "description").trim()]);
  if (operation["deprecated"] === true) texts.add("Deprecated.");
  return [...texts].filter((text) => text !== "").join("\n");
}

function idOf(method: string, path: string): string {
  const words = path.match(/[a-zA-Z0-9]+/g) ?? ["root"];
  return [method, ...words].join("_");
}

function isPlace(value: string): value is ParameterPlace {
  return Object.hasOwn(places, value);
}
