// What a model is told of a service's answer.

import type { JsonValue } from "../../core/json.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { Beginning } from "../scrubbed-beginning.ts";

export interface Answer {
  readonly status: number;
  /** JSON as it is, text as text, `null` for nothing; of anything else a sentence that says what it was. */
  readonly body: JsonValue;
}

/** What could be read of a body. */
interface ReadBytes {
  readonly bytes: Buffer;
  /** `false`: there was more, and that was too much. */
  readonly isAll: boolean;
}

/**
 * The answer, or the beginning of a text that is too large to be read.
 *
 * @throws Error with the status and the body for an answer from 400 on; it is cut after the secrets are taken out of it.
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
    // The call has been made, and its status is known: that the rest is too long must not hide it.
    if (!(error instanceof OutboundError) || error.kind !== "too_large") throw error;
    return { bytes: Buffer.concat(parts), isAll: false };
  }
}

function nameOf(type: string): string {
  return type.trim() || "an unknown type";
}

/** `null` for what is no text. */
function decode({ bytes, isAll }: ReadBytes, type: string, parameters: string): string | null {
  const isText =
    /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:javascript|x-www-form-urlencoded|x-ndjson)$/;
  if (type !== "" && !isText.test(type)) return null;
  const charset = /charset="?([\w-]+)/.exec(parameters)?.[1] ?? "utf-8";
  // The last character of a beginning may be one half.
  const options = { stream: !isAll };
  try {
    return new TextDecoder(charset, { fatal: type === "" }).decode(bytes, options);
  } catch {
    return type === "" ? null : new TextDecoder().decode(bytes, options);
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
