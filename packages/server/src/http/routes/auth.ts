// Sign-in tokens of an App's users (contract section 4).

import { z } from "zod";
import { refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

export function authRoutes(app: HttpApp, { services, access }: RouteParts): void {
  app.post(
    "/api/auth/revoke",
    {
      schema: {
        operationId: "revokeToken",
        summary: "Sign out: end the token of this request",
        description:
          "The token is refused by every node within five seconds, and event streams that use it end.",
        tags: ["Users"],
        security: [{ userToken: [] }],
        response: {
          204: z.undefined().meta({ description: "The token has ended" }),
          ...refusals(401, 413, 429, 503, 507),
        },
      },
      ...access.tokenHooks(),
    },
    async (request, reply) => {
      await services.users.revoke(access.requiredToken(request));
      return reply.code(204).send();
    },
  );
}
