// Maps an error of an SDK call to a message for the model and the state of the connection.

import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import type { ToolEffect } from "../../core/ports/driven/tool.ts";
import { messageOf } from "../call-tool.ts";
import { STREAM_ENDED } from "./bounded-transport.ts";
import { ANSWER_CUT } from "./cut-answer.ts";
import { McpBroken, McpCut, SessionLost } from "./mcp-failure.ts";

/** SDK errors for responses that the protocol does not allow. */
const NOT_ALLOWED: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.ClientHttpUnexpectedContent,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.UnsupportedResultType,
]);

export interface CallFailure {
  /** The error to show to the model. */
  readonly failure: Error;
  /**
   * `stands`: the connection is usable; `forgotten`: the server has dropped its session; `doubtful`: a
   * further request must find out.
   */
  readonly connection: "stands" | "forgotten" | "doubtful";
  /** True for a failure of the server, and false if it only refused the call. */
  readonly isFault: boolean;
}

export interface FailedCall {
  /** Name of the server in the configuration. */
  readonly server: string;
  readonly effect: ToolEffect;
  /** True if the server had assigned a session to the connection. */
  readonly hasSession: boolean;
}

export function describeCallFailure(error: unknown, call: FailedCall): CallFailure {
  const options = { cause: error };
  const { server, effect, hasSession } = call;
  if (error instanceof ProtocolError && error.code === ANSWER_CUT && typeof error.data === "string") {
    return { failure: new McpCut(error.data, options), connection: "stands", isFault: true };
  }
  const status = statusOf(error);
  if (hasSession && status === 404) {
    return { failure: new SessionLost(server, effect, options), connection: "forgotten", isFault: false };
  }
  const message = describeAnswer(error, status, call);
  if (message === null) {
    return { failure: new McpBroken(server, effect, options), connection: "doubtful", isFault: true };
  }
  // Some servers respond with 400 instead of 404 for an unknown session.
  const connection = hasSession && status === 400 ? "doubtful" : "stands";
  const isFault = !(error instanceof ProtocolError) && (status === null || status >= 500);
  return { failure: new Error(message, options), connection, isFault };
}

/** Returns true if the server responded, even with an error, so that no reconnect delay is needed. */
export function hasResponded(error: unknown): boolean {
  return statusOf(error) !== null;
}

function statusOf(error: unknown): number | null {
  if (error instanceof InsufficientScopeError) return 403;
  return error instanceof SdkHttpError ? error.status : null;
}

/**
 * Returns the message of a response, or `null` if there was none. It is not truncated yet, because secrets
 * are removed first.
 */
function describeAnswer(
  error: unknown,
  status: number | null,
  { server, effect }: FailedCall,
): string | null {
  const name = `The MCP server "${server}"`;
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED) {
    return `${name} refused the call: ${error.message}`;
  }
  if (status !== null && status >= 400 && status < 500) {
    return `${name} refused the call with status ${status}.`;
  }
  if (status !== null) {
    const mayHaveRun = status >= 500 && effect !== "read";
    return `${name} answered the call with status ${status}.${mayHaveRun ? " It may have had its effect." : ""}`;
  }
  if ((error instanceof SdkError && NOT_ALLOWED.has(error.code)) || isUnreadable(error)) {
    return `${name} answered, but not with what the protocol allows: ${messageOf(error)}`;
  }
  return null;
}

/** Returns true for a response that is not JSON, or not a protocol message. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && ["SyntaxError", "ZodError", "$ZodError"].includes(error.name);
}
