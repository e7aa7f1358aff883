import type { JsonObject } from "./json.ts";

/** Options of a chat besides its text. Absent fields were not requested. */
export interface TurnOptions {
  /** Tools that the client offers for this turn and runs itself, by name. */
  readonly clientTools?: Readonly<Record<string, ClientTool>>;
  /** JSON Schema that the answer must match. */
  readonly responseSchema?: JsonObject;
}

/** A tool that runs in the client. */
export interface ClientTool {
  readonly description: string;
  /** JSON Schema of its input. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Milliseconds in which a client must give the result; the limit for actions when absent. */
  readonly timeoutMs?: number | undefined;
  /** True if another client may run a call after the first client's claim has expired. */
  readonly repeatable?: boolean | undefined;
}
