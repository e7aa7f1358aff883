// Registers `POST /api/ag-ui`, which streams one run.

import {
  AppName,
  CHAT_ACCESS,
  DEFAULT_APP,
  type HttpApp,
  KEPT_MAX_BYTES,
  parseConversation,
  type ProtocolContext,
  type ProtocolConversation,
  HEADERS,
  refusalsAs,
  type ServedApps,
  ServiceError,
  type StreamFollower,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { answersCall, type Asked, readAsked, RunInput } from "./input.ts";
import { startRun } from "./run.ts";
import { RefusedRun, RunStream } from "./run-stream.ts";

const RunError = z.looseObject({ type: z.literal("RUN_ERROR"), message: z.string(), code: z.string() });
/** Codes of errors that the protocol reports as an event of the stream rather than as an HTTP status. */
const EVENTS: ReadonlySet<string> = new Set([
  "interrupts_open",
  "resume_invalid",
  "interrupt_not_found",
  "interrupt_expired",
]);

export function runRoute(app: HttpApp, context: ProtocolContext, served: ServedApps): void {
  app.post(
    "/api/ag-ui",
    {
      config: {
        access: { ...CHAT_ACCESS, bodyField: "threadId", app: "query", ...served.credentials },
        parseBody: (bytes) => parseConversation(bytes, answersCall),
      },
      // Clients send the whole conversation with each run.
      bodyLimit: context.sessionBytes + KEPT_MAX_BYTES,
      schema: {
        operationId: "agUiRun",
        summary: "Run an AG-UI agent",
        description:
          "For `HttpAgent` of `@ag-ui/client` and CopilotKit. Sends the last message, answers interrupts (`resume`) and calls of client " +
          "tools (`tool` messages), or connects to the thread. A disconnect does not stop the answer; `POST /api/interrupt` does.",
        tags: ["AG-UI"],
        headers: z.object(HEADERS.appKey),
        querystring: z.object({ app: AppName.optional() }),
        body: RunInput,
        response: {
          200: {
            description: "Events of the run: each `data:` line holds one event",
            content: { "text/event-stream": { schema: z.looseObject({ type: z.string() }) } },
          },
          ...refusalsAs(
            { "application/json": { schema: RunError } },
            401,
            403,
            404,
            409,
            413,
            415,
            429,
            503,
            507,
          ),
        },
      },
    },
    async (request, reply) => {
      const { app: name } = request.query as { readonly app?: string };
      served.assert(name ?? DEFAULT_APP);
      const { body: input } = request;
      const asked = readAsked(input);
      const conversation = context.conversation(request, { app: name });
      await conversation.stream(reply, async () => {
        await served.assertOf(conversation);
        return await begin(conversation, input, asked);
      });
    },
  );
}

async function begin(
  conversation: ProtocolConversation,
  input: RunInput,
  asked: Asked,
): Promise<StreamFollower> {
  try {
    return new RunStream(conversation, input, await startRun(conversation, input, asked));
  } catch (error) {
    if (error instanceof ServiceError && EVENTS.has(error.code)) return new RefusedRun(input, error);
    throw error;
  }
}
