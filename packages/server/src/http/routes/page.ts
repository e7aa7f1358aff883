// What pages need before anybody has signed in.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { Page } from "../documented.ts";
import { AppName, optional, refusals } from "../operation.ts";
import { type HttpApp, PUBLIC, type RouteParts } from "./route-parts.ts";

export function pageRoute(app: HttpApp, { services: { publicPage }, guide }: RouteParts): void {
  app.get(
    "/api/page",
    {
      config: PUBLIC,
      schema: {
        operationId: "getPage",
        summary: "Get what a page needs before the sign-in",
        description:
          "Branding and sign-in of the App that `app` names, or else of `default`. Public. An App that does not exist is answered like one without either.",
        tags: ["Control"],
        security: [],
        querystring: z.object({ app: optional(AppName) }),
        response: { 200: Page, ...refusals(429) },
      },
    },
    async ({ query }) => ({
      ...(await publicPage.of(query.app ?? DEFAULT_APP)),
      guide: guide !== null && existsSync(join(guide, "index.html")),
    }),
  );
}
