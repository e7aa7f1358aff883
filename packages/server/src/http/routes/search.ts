import { z } from "zod";
import { SearchPage } from "../documented.ts";
import { HEADERS, limitUpTo, optional, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const [PAGE, PAGE_MAX] = [20, 50];

const SearchQuery = z.object({
  q: z.string("must be a string").meta({
    description:
      "Words that must all be in the message, in any order; the last one may be longer there. Quotes search for a phrase. At most 400 characters",
    examples: ["bridge fee"],
  }),
  limit: optional(limitUpTo(PAGE_MAX, `Maximum results of a page; ${PAGE} when absent`)),
  cursor: optional(z.string().meta({ description: "`next_cursor` of the page before" })),
});

export function searchRoute(app: HttpApp, { services, admission }: RouteParts): void {
  const { conversations, search } = services;
  app.get(
    "/api/search",
    {
      config: { access: { session: "header", app: "session", scope: "read", creates: true } },
      schema: {
        operationId: "search",
        summary: "Search messages",
        description:
          "Searches the texts of the user's conversations and of those of the wallets that the user has proved, newest message first; " +
          "without a user, those of the session alone. Capital letters and accents make no difference. A page may have fewer results than " +
          "`limit`, also none, although another one follows.",
        tags: ["Sessions"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        querystring: SearchQuery,
        response: { 200: SearchPage, ...refusals(401, 404, 429, 503, 507) },
      },
    },
    async (request) => {
      const { caller } = request;
      const { q: query, limit = PAGE, cursor = null } = request.query;
      const sessions = await caller.searched();
      const page = await search.find({ query, sessions, limit, cursor });
      // Search first, so that a rejected request creates nothing.
      await conversations.ensure(caller.sessionId, caller.access(), admission.newSession(request));
      return page;
    },
  );
}
