import type { ProtocolConversation } from "@colloquy/server/protocol";
import type { FastifyRequest } from "@colloquy/server/protocol";
import type { Parts } from "./route-parts.ts";

/** Context of one JSON-RPC message. */
export interface Call extends Parts {
  readonly app: string;
  readonly request: FastifyRequest;
  /** Conversation that the message names. If it names none, one with a new id, which does not exist yet. */
  readonly conversation: ProtocolConversation;
  /** True if the client accepts `text/event-stream`. */
  readonly acceptsStream: boolean;
}
