import { z } from "zod";
import { GivenFeedback } from "../documented.ts";
import { HEADERS, IdPath, optional, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const COMMENT_MAX = 4_000;
const TAGS_MAX = 20;
const TAG_MAX = 100;

const AnswerPath = IdPath.extend({ message_id: z.uuid("must be the id of a message").toLowerCase() });

const FeedbackBody = z
  .object({
    score: z.union([z.literal(-1), z.literal(0), z.literal(1)], "must be -1, 0 or 1"),
    comment: optional(
      z
        .string("must be a string")
        .trim()
        .max(COMMENT_MAX, `must be at most ${COMMENT_MAX.toLocaleString("en")} characters`)
        .nullable(),
    ),
    tags: optional(
      z
        .array(
          z
            .string("must be a string")
            .trim()
            .min(1, "must not be blank")
            .max(TAG_MAX, `must be at most ${TAG_MAX} characters`),
          "must be an array",
        )
        .max(TAGS_MAX, `must be at most ${TAGS_MAX} tags`),
    ),
  })
  // The generator omits `examples` of transformed values, such as trimmed texts.
  .meta({ example: { score: -1, comment: "The fee is missing.", tags: ["incomplete"] } });

export function feedbackRoute(app: HttpApp, { services }: RouteParts): void {
  app.put(
    "/api/sessions/:id/messages/:message_id/feedback",
    {
      config: { access: { session: "path", app: "session", scope: "chat", inTransaction: true } },
      schema: {
        operationId: "giveFeedback",
        summary: "Give feedback on an answer",
        description:
          "Replaces the feedback on the answer. A score of 0 without comment and tags removes it. Every caller with access to the conversation can change it. " +
          "Streams with `include=messages` receive `message_updated`.",
        tags: ["Sessions"],
        params: AnswerPath,
        headers: z.object(HEADERS.sessionKey),
        body: FeedbackBody,
        response: { 200: GivenFeedback, ...refusals(400, 401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { id, message_id: messageId } = request.params;
      const { score, comment, tags = [] } = request.body;
      const input = { messageId, score, comment: comment || null, tags };
      return request.caller.run(async (access) => ({
        feedback: await services.threads.giveFeedback(id, input, access),
      }));
    },
  );
}
