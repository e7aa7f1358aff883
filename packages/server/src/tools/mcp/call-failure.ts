// What a failed call of the SDK means: for the model, and for the connection.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { STREAM_ENDED } from "./bounded-transport.ts";
import { McpBroken, McpRefusal, SessionLost } from "./mcp-failure.ts";

import { messageOf } from "../call-tool.ts";

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
  /** Whether the connection can still be used, or a new one can at once, or only after a pause. */
  readonly connection: "stands" | "forgotten" | "broken";
}

/** `hasSession` says whether the server had given the connection a session. */
export function describeCallFailure(server: string, error: unknown, hasSession: boolean): CallFailure {
  const options = { cause: error };
  const status = hasSession && error instanceof SdkHttpError ? error.status : null;
  if (status === 404) return { failure: new SessionLost(server, options), connection: "forgotten" };
  const refusal = describeRefusal(server, error);
  if (refusal === null) return { failure: new McpBroken(server, options), connection: "broken" };
  // Some servers say 400 instead of 404. That is a refusal like any other, and the next call gets a new session.
  const connection = status === 400 ? "forgotten" : "stands";
  return { failure: new McpRefusal(refusal, options), connection };
}

/** What an answer has said, whole: it is cut after the secrets are taken out. `null` when there was none. */
function describeRefusal(server: string, error: unknown): string | null {
  const name = `The MCP server "${server}"`;
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED) {
    return `${name} refused the call: ${error.message}`;
  }
  if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500) {
    return `${name} refused the call with status ${error.status}.`;
  }
  if ((error instanceof SdkError && HARMLESS.has(error.code)) || isUnreadable(error)) {
    return `${name} ran the tool, but its answer is not what the protocol allows: ${messageOf(error)}`;
  }
  return null;
}

/** An answer that is no JSON, or no message of the protocol. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && ["SyntaxError", "ZodError", "$ZodError"].includes(error.name);
}
