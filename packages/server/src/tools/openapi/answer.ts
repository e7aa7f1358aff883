// What a model is told of a service's answer.

import type { JsonValue } from "../../core/json.ts";
import { OutboundError } from "../outbound/outbound-error.ts";

export interface Answer {
  readonly status: number;
  /** JSON as it is, text as text, `null` for nothing; of anything else a sentence that says what it was. */
  readonly body: JsonValue;
}

/** @throws Error with the status and the body for an answer from 400 on; it is cut after the secrets are taken out of it. */
export async function readAnswer(response: Response, host: string): Promise<Answer> {
  const body = await readBody(response);
  if (response.status < 400) return { status: response.status, body };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const said = body === null ? "." : `: ${text.trim()}`;
  throw new Error(`${host} answered ${response.status}${said}`);
}

async function readBody(response: Response): Promise<JsonValue> {
  const [type = "", ...parameters] = (response.headers.get("content-type") ?? "").toLowerCase().split(";");
  let bytes: Uint8Array;
  try {
    bytes = await response.bytes();
  } catch (error) {
    // The call has been made, and its status is known: that the rest is too long must not hide it.
    if (error instanceof OutboundError && error.kind === "too_large") return `[Left out: ${error.message}]`;
    throw error;
  }
  if (bytes.length === 0) return null;
  const text = decode(bytes, type.trim(), parameters.join(";"));
  if (text === null) return `[${bytes.length} bytes of ${type.trim() || "an unknown type"}]`;
  return parseJson(text, type) ?? text;
}

/** `null` for what is no text. */
function decode(bytes: Uint8Array, type: string, parameters: string): string | null {
  const isText =
    /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:javascript|x-www-form-urlencoded|x-ndjson)$/;
  if (type !== "" && !isText.test(type)) return null;
  const charset = /charset="?([\w-]+)/.exec(parameters)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { fatal: type === "" }).decode(bytes);
  } catch {
    return type === "" ? null : new TextDecoder().decode(bytes);
  }
}

/** `undefined` for what is no JSON, whatever it says of itself. */
function parseJson(text: string, type: string): JsonValue | undefined {
  if (type.trim() !== "" && !/[/+]json$/.test(type.trim())) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
