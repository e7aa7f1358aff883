// What a failed call of the SDK means: for the model, and for the connection.

import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import type { ToolEffect } from "../../core/ports/tool.ts";
import { messageOf } from "../call-tool.ts";
import { STREAM_ENDED } from "./bounded-transport.ts";
import { ANSWER_CUT } from "./cut-answer.ts";
import { McpBroken, McpCut, McpRefusal, SessionLost } from "./mcp-failure.ts";

/** Answers that the protocol does not allow. */
const NOT_ALLOWED: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.ClientHttpUnexpectedContent,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.UnsupportedResultType,
]);

export interface CallFailure {
  /** For the model. */
  readonly failure: Error;
  /** Whether the connection can still be used, or a new one is needed, or only another question can tell. */
  readonly connection: "stands" | "forgotten" | "doubtful";
  /** Whether the server has done wrong, and not only refused a call. */
  readonly isFault: boolean;
}

export interface FailedCall {
  /** The server's name. */
  readonly server: string;
  readonly effect: ToolEffect;
  /** Whether the server had given the connection a session. */
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
  const said = describeAnswer(error, status, call);
  if (said === null) {
    return { failure: new McpBroken(server, effect, options), connection: "doubtful", isFault: true };
  }
  // Some servers say 400 instead of 404 to a session that they have forgotten.
  const connection = hasSession && status === 400 ? "doubtful" : "stands";
  const isFault = !(error instanceof ProtocolError) && (status === null || status >= 500);
  return { failure: new McpRefusal(said, options), connection, isFault };
}

/** Whether the server has answered what it was asked, if only that it will not: then it need not be left alone for a while. */
export function hasAnswered(error: unknown): boolean {
  return statusOf(error) !== null;
}

function statusOf(error: unknown): number | null {
  if (error instanceof InsufficientScopeError) return 403;
  return error instanceof SdkHttpError ? error.status : null;
}

/** What an answer has said, whole: it is cut after the secrets are taken out. `null` when there was none. */
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

/** An answer that is no JSON, or no message of the protocol. */
function isUnreadable(error: unknown): boolean {
  return error instanceof Error && ["SyntaxError", "ZodError", "$ZodError"].includes(error.name);
}
