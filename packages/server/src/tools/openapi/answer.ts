// Converts a service's response for the model.

import type { JsonValue } from "../../core/json.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { Beginning } from "../scrubbed-beginning.ts";

export interface Answer {
  readonly status: number;
  /** JSON, text, `null` for an empty body, or a description of any other body. */
  readonly body: JsonValue;
}

/** The bytes that could be read of a body. */
interface ReadBytes {
  readonly bytes: Buffer;
  /** `false` if the body exceeded the limit. */
  readonly isAll: boolean;
}

/**
 * Returns the response, or the beginning of a text that is too large.
 *
 * @throws Error with the status and the body from status 400 on. It is uncut, because secrets are removed
 *   first.
 */
export async function readAnswer(response: Response, host: string): Promise<Answer | Beginning> {
  const { status } = response;
  const read = await readBytes(response);
  const size = `${read.isAll ? "" : "more than "}${read.bytes.length} bytes`;
  const [type = "", ...parameters] = (response.headers.get("content-type") ?? "").toLowerCase().split(";");
  const text = decode(read, type.trim(), parameters.join(";"));
  if (status >= 400) {
    const said = text === null ? `[${size} of ${nameOf(type)}]` : text.trim();
    const length = read.isAll ? "" : ` with ${size}`;
    throw new Error(`${host} answered ${status}${length}${read.bytes.length === 0 ? "." : `: ${said}`}`);
  }
  if (read.bytes.length === 0 && read.isAll) return { status, body: null };
  if (text === null) return { status, body: `[${size} of ${nameOf(type)}]` };
  if (read.isAll) return { status, body: parseJson(text, type) ?? text };
  return new Beginning(JSON.stringify({ status, body: text.slice(0, Beginning.ENOUGH) }), read.bytes.length);
}

async function readBytes({ body }: Response): Promise<ReadBytes> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of body ?? []) parts.push(part);
    return { bytes: Buffer.concat(parts), isAll: true };
  } catch (error) {
    // The call has been made: an oversized body must not hide its status.
    if (!(error instanceof OutboundError) || error.kind !== "too_large") throw error;
    return { bytes: Buffer.concat(parts), isAll: false };
  }
}

function nameOf(type: string): string {
  return type.trim() || "an unknown type";
}

/** Returns `null` for a body that is not text. */
function decode({ bytes, isAll }: ReadBytes, type: string, parameters: string): string | null {
  const isText =
    /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:javascript|x-www-form-urlencoded|x-ndjson)$/;
  if (type !== "" && !isText.test(type)) return null;
  const charset = /charset="?([\w-]+)/.exec(parameters)?.[1] ?? "utf-8";
  // The beginning may end within a character.
  const options = { stream: !isAll };
  try {
    return new TextDecoder(charset, { fatal: type === "" }).decode(bytes, options);
  } catch {
    return type === "" ? null : new TextDecoder().decode(bytes, options);
  }
}

/** Returns `undefined` for text that is not JSON, whatever its content type says. */
function parseJson(text: string, type: string): JsonValue | undefined {
  if (type.trim() !== "" && !/[/+]json$/.test(type.trim())) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
