// Serializes the parameters of an operation into its request: OpenAPI's `style` and `explode`.

import { isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/tool-source";

export type ParameterPlace = "path" | "query" | "header" | "cookie";

export interface ParameterPlan {
  /** Name in the tool's input. `name` is the name in the request. */
  readonly input: string;
  readonly name: string;
  readonly place: ParameterPlace;
  readonly style: "simple" | "form" | "spaceDelimited" | "pipeDelimited" | "deepObject";
  readonly explode: boolean;
  /** True if the value is serialized as JSON, whatever the style. */
  readonly isJson: boolean;
}

const delimiters = { simple: ",", form: ",", spaceDelimited: "%20", pipeDelimited: "%7C", deepObject: "," };

/**
 * Encodes a value for a path, as one segment or part of one, so that it cannot change the path.
 *
 * @throws Error for a value that could still change the path: an empty one, or one with a segment `.` or
 *   `..`. Slashes and backslashes separate segments here, because some servers decode a path before they
 *   parse it.
 */
export function pathText(parameter: ParameterPlan, value: JsonValue): string {
  const raw = flatten(parameter, value, plainText, ",");
  if (raw === "" || raw.split(/[/\\]/).some((part) => part === "." || part === "..")) {
    throw new Error(`${parameter.input} cannot be ${JSON.stringify(raw)}: it is a part of a path.`);
  }
  return flatten(parameter, value, encode, ",");
}

/** Returns encoded pairs `name=value`. */
export function queryPairs(parameter: ParameterPlan, value: JsonValue): readonly string[] {
  const { name, style, explode, isJson } = parameter;
  if (isJson) return [pair(name, JSON.stringify(value))];
  if (style === "deepObject" && isContainer(value)) return deepPairs(encode(name), value);
  if (explode && Array.isArray(value)) return value.map((item) => pair(name, plainText(item)));
  if (explode && isJsonObject(value)) {
    return Object.entries(value).map(([key, item]) => pair(key, plainText(item)));
  }
  return [`${encode(name)}=${flatten(parameter, value, encode, delimiters[style])}`];
}

/** @throws Error for a value that a header cannot hold. */
export function headerText(parameter: ParameterPlan, value: JsonValue): string {
  const text = flatten(parameter, value, plainText, ",");
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
    throw new Error(`${parameter.input} has characters that are invalid in a header.`);
  }
  return text;
}

/** Returns an encoded `name=value`. */
export function cookieText(parameter: ParameterPlan, value: JsonValue): string {
  return `${encode(parameter.name)}=${flatten(parameter, value, encode, ",")}`;
}

/**
 * Joins the parts of a value into one text: arrays as `a,b`, objects as `k,v,l,w`, or `k=v,l=w` with
 * `explode`.
 */
function flatten(
  { explode, isJson }: ParameterPlan,
  value: JsonValue,
  write: (value: JsonValue) => string,
  delimiter: string,
): string {
  if (isJson) return write(JSON.stringify(value));
  if (Array.isArray(value)) return value.map(write).join(delimiter);
  if (!isJsonObject(value)) return write(value);
  const between = explode ? "=" : delimiter;
  return Object.entries(value)
    .map(([key, item]) => `${write(key)}${between}${write(item)}`)
    .join(delimiter);
}

/**
 * Serializes the style `deepObject`: `name[key]=value`. For arrays, which OpenAPI leaves undefined, uses
 * `name[0]=value` like PHP, Rack and `qs`.
 */
function deepPairs(prefix: string, value: JsonObject | readonly JsonValue[]): string[] {
  return Object.entries(value).flatMap(([key, item]: [string, JsonValue]) => {
    const name = `${prefix}[${encode(key)}]`;
    return isContainer(item) ? deepPairs(name, item) : [`${name}=${encode(item)}`];
  });
}

function isContainer(value: JsonValue): value is JsonObject | JsonValue[] {
  return typeof value === "object" && value !== null;
}

function pair(name: string, value: string): string {
  return `${encode(name)}=${encode(value)}`;
}

function encode(value: JsonValue): string {
  return encodeURIComponent(plainText(value));
}

function plainText(value: JsonValue): string {
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
  return text.toWellFormed();
}

const maximumLength = 64;

/** Assigns unique names to the inputs of a tool, of characters that models accept. */
export class InputNames {
  readonly #taken = new Set<string>();

  /** `place` distinguishes fields of the same name: `id`, then `id_body`, then `id_body_2`. */
  give(name: string, place: string): string {
    const plain = fit(name, "");
    if (this.#take(plain)) return plain;
    for (let count = 1; ; count += 1) {
      const candidate = fit(name, count === 1 ? `_${place}` : `_${place}_${count}`);
      if (this.#take(candidate)) return candidate;
    }
  }

  #take(name: string): boolean {
    if (this.#taken.has(name)) return false;
    this.#taken.add(name);
    return true;
  }
}

function fit(name: string, ending: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_.-]+/g, "_").replaceAll(/^_+|_+$/g, "") || "value";
  return plain.slice(0, maximumLength - ending.length) + ending;
}
