// Formats errors as `RUN_ERROR` events (https://docs.ag-ui.com/concepts/events).

import type { Problem } from "@colloquy/protocol";
import { EventType, type RunErrorEvent } from "@ag-ui/core";
import type { FormattedError } from "@colloquy/server/protocol";

export function runError(message: string, code: string): RunErrorEvent {
  return { type: EventType.RUN_ERROR, message, code };
}

/** Formats an error response that precedes the stream, with the request id in `metadata`. */
export function formatError({ detail, code, request_id }: Problem): FormattedError {
  const event = { ...runError(detail, code), metadata: { request_id } };
  return { contentType: "application/json; charset=utf-8", body: JSON.stringify(event) };
}
