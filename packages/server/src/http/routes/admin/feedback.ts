import { feedbackCsv } from "@colloquy/engine/internal/core/feedback-csv";
import type { AdminFeedback } from "@colloquy/protocol";
import { z } from "zod";
import { readerOf } from "../../actors.ts";
import { AdminFeedbackPage } from "../../documented.ts";
import { AppName, limitUpTo, refusals, time } from "../../operation.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";

const PAGE_MAX = 1_000;
const PAGE = 50;

const FeedbackQuery = z.object({
  app: AppName.optional().meta({ description: "Only feedback on answers of this App" }),
  score: z
    .enum(["-1", "0", "1"], "must be -1, 0 or 1")
    .optional()
    .meta({ description: "Only feedback with this score" }),
  from: time("Start, inclusive"),
  to: time("End, exclusive"),
  limit: limitUpTo(PAGE_MAX, `Maximum entries in a page; defaults to ${PAGE}`).optional(),
  cursor: z.string().optional().meta({ description: "`next_cursor` of the previous page" }),
  format: z.enum(["json", "csv"], "must be json or csv").optional().meta({
    description: "`csv` returns a table, with the cursor of the next page in the header `X-Next-Cursor`",
  }),
});

export function adminFeedbackRoute(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/feedback",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListFeedback",
        summary: "List the feedback on answers",
        description: "Newest first.",
        ...ADMIN,
        querystring: FeedbackQuery,
        response: {
          200: {
            description: "A page of feedback",
            content: {
              "application/json": { schema: AdminFeedbackPage },
              "text/csv": { schema: z.string() },
            },
          },
          ...refusals(401, 403, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const {
        app = null,
        score,
        from = null,
        to = null,
        limit = PAGE,
        cursor = null,
        format,
      } = request.query;
      const scoreFilter = score === undefined ? null : (Number(score) as AdminFeedback["score"]);
      const query = { app, score: scoreFilter, from, to, limit, cursor };
      const page = await service.feedback(query, readerOf(request));
      if (format !== "csv") return page;
      if (page.next_cursor !== null) reply.header("x-next-cursor", page.next_cursor);
      return await reply.type("text/csv; charset=utf-8").send(feedbackCsv(page.feedback));
    },
  );
}
