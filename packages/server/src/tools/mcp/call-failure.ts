// What a failed call of the SDK means: for the model, and for the connection.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { STREAM_ENDED } from "./bounded-transport.ts";
import { McpBroken, McpRefusal, SessionLost } from "./mcp-failure.ts";

import { messageOf } from "../call-tool.ts";

const MAX_QUOTED = 1_000;
/** Failures after which the connection still stands. */
const HARMLESS: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.RequestTimeout,
]);

export interface CallFailure {
  /** For the model. */
  readonly failure: Error;
  /** Whether the connection can still be used. */
  readonly connection: "stands" | "lost";
}

export function describeCallFailure(server: string, error: unknown): CallFailure {
  const options = { cause: error };
  if (isSessionLost(error)) return { failure: new SessionLost(server, options), connection: "lost" };
  const refusal = describeRefusal(server, error);
  return refusal === null
    ? { failure: new McpBroken(server, options), connection: "lost" }
    : { failure: new McpRefusal(refusal, options), connection: "stands" };
}

/** 404 as the protocol prescribes, 400 as some servers do. */
function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status === 404 || (error.status === 400 && /session/i.test(error.message));
}

/** What an answer has said; `null` when there was none. */
function describeRefusal(server: string, error: unknown): string | null {
  const name = `The MCP server "${server}"`;
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED) {
    return `${name} refused the call: ${quote(error.message)}`;
  }
  if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500) {
    return `${name} refused the call with status ${error.status}.`;
  }
  if ((error instanceof SdkError && HARMLESS.has(error.code)) || isUnreadable(error)) {
    return `${name} ran the tool, but its answer is not what the protocol allows: ${quote(messageOf(error))}`;
  }
  return null;
}

/** An answer that is no JSON, or no message of the protocol. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && ["SyntaxError", "ZodError", "$ZodError"].includes(error.name);
}

function quote(message: string): string {
  return message.length > MAX_QUOTED ? `${message.slice(0, MAX_QUOTED)}…` : message;
}
