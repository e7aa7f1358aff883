// Shared by the routes: access and documented responses.

import { SessionId } from "@colloquy/protocol";
import {
  type FastifyRequest,
  type ProtocolContext,
  type ProtocolConversation,
  type RefusalSchema,
  refusalsAs,
  type ServedApps,
} from "@colloquy/server/protocol";
import { z } from "zod";

export const TAGS = ["Agent API"];
export const SessionPath = z.object({ id: SessionId });

export interface Parts {
  readonly context: ProtocolContext;
  readonly served: ServedApps;
}

/** Returns the conversation of the request. Throws the refusal if its App is not served. */
export async function served(parts: Parts, request: FastifyRequest): Promise<ProtocolConversation> {
  const conversation = parts.context.conversation(request);
  await parts.served.assertOf(conversation);
  return conversation;
}

const AgentError = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    requestId: z.string(),
    details: z.object({ code: z.string(), status: z.int() }),
  }),
});

/** Returns the documented responses of a route. */
export function answers(description: string, type = "application/json"): Record<number, RefusalSchema> {
  const error = { "application/json": { schema: AgentError } };
  return {
    200: { description, content: { [type]: { schema: z.looseObject({}) } } },
    ...refusalsAs(error, 401, 404, 409, 410, 413, 415, 429, 503, 507),
  };
}
