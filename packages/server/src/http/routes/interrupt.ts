import { z } from "zod";
import { Snapshot } from "../documented.ts";
import { requiredSessionId } from "../headers.ts";
import { HEADERS, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const ROUTE = "/api/interrupt";

export function interruptRoute(app: HttpApp, { services, answers, admission, access }: RouteParts): void {
  app.post(
    ROUTE,
    {
      schema: {
        operationId: "interrupt",
        summary: "Stop the answer in progress",
        description:
          "Also drops what waits behind it. The text so far stays. Does nothing when nothing is in progress.",
        tags: ["Conversation"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        response: { 200: Snapshot, ...refusals(401, 413, 429, 503, 507) },
      },
      ...access.ofSessionAtWork,
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const view = await access.underItsApp(request, sessionId, (apps) =>
        services.conversations.interrupt(sessionId, admission.newSession(request), apps),
      );
      answers.snapshot({ request, reply, route: ROUTE, waitMs: 0 }, view);
    },
  );
}
