// Maps an error of an SDK call to a message for the model and the state of the connection.

import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { messageOf, type ToolEffect } from "@colloquy/engine/tool-source";
import { STREAM_ENDED } from "./bounded-transport.ts";
import { ANSWER_CUT } from "./cut-answer.ts";
import { McpBroken, McpCut, NoAnswerInTime, SessionLost } from "./mcp-failure.ts";

/** SDK errors for responses that violate the protocol. */
const NOT_ALLOWED: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.ClientHttpUnexpectedContent,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.UnsupportedResultType,
]);

/** Error statuses of a call that do not affect the session: credentials and rate limits. */
const KEEP_SESSION: ReadonlySet<number> = new Set([401, 403, 429]);
/**
 * Messages of the SDK's HTTP+SSE errors: a failed POST, whose status appears only here, and an invalid
 * endpoint.
 */
const REFUSED_POST = /^Error POSTing to endpoint \(HTTP (\d{3})\)/;
const WRONG_ENDPOINT = /^Endpoint origin does not match/;

export interface CallFailure {
  /** The error to show to the model. */
  readonly failure: Error;
  /**
   * `stands`: the connection is usable; `forgotten`: the server has dropped its session; `doubtful`: unknown
   * until another request succeeds or fails.
   */
  readonly connection: "stands" | "forgotten" | "doubtful";
  /** True if the server failed, false if it only rejected the call. */
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
  // For an unknown session, some servers respond with 400, 409 or 5xx instead of 404.
  const connection = hasSession && status !== null && !KEEP_SESSION.has(status) ? "doubtful" : "stands";
  const isFault = !(error instanceof ProtocolError) && (status === null || status >= 500);
  return { failure: new Error(message, options), connection, isFault };
}

/**
 * Describes the response of a server that failed to open a connection or to list its tools, as the rest of a
 * sentence; `null` if it did not respond. May still contain the server's keys.
 */
export function describeOpenFailure(error: unknown): string | null {
  const message = error instanceof Error ? error.message : "";
  const status = statusOf(error) ?? numberOf(REFUSED_POST.exec(message)?.[1]);
  if (status !== null && status >= 400 && status < 500) return `refused the connection with status ${status}`;
  if (status !== null) return `answered with status ${status}`;
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED)
    return `answered with an error: ${messageOf(error)}`;
  if (isForbiddenAnswer(error) || WRONG_ENDPOINT.test(message))
    return "answered, but not with what the protocol allows";
  return error instanceof NoAnswerInTime ? "does not answer in time" : null;
}

/** Returns true if the server responded, even with an error, so that no reconnect delay is needed. */
export function hasResponded(error: unknown): boolean {
  return statusOf(error) !== null;
}

function numberOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
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
  if (error instanceof SdkError && error.code === SdkErrorCode.CapabilityNotSupported)
    return `${name} asked for an input of the user, which this service does not pass on. Call another tool.`;
  if (isForbiddenAnswer(error)) {
    return `${name} answered, but not with what the protocol allows: ${messageOf(error)}`;
  }
  return null;
}

/** Returns true for a response that is not JSON, not a protocol message, or not allowed here. */
function isForbiddenAnswer(error: unknown): boolean {
  if (error instanceof SdkError && NOT_ALLOWED.has(error.code)) return true;
  return error instanceof Error && ["SyntaxError", "ZodError", "$ZodError"].includes(error.name);
}
