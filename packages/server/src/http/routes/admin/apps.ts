import { z } from "zod";
import { AdminApp } from "../../documented-admin.ts";
import { refusals } from "../../operation.ts";
import type { HttpApp } from "../route-parts.ts";
import { ADMIN, type AdminParts } from "./admin-route-parts.ts";

export function adminAppRoutes(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/apps",
    {
      schema: {
        operationId: "adminListApps",
        summary: "List the Apps",
        description:
          "The configured ones in their order, then those that are gone and still have sessions or keys. How a tool source is doing is " +
          "what the process that answers saw last.",
        ...ADMIN,
        response: {
          200: z.array(AdminApp).meta({ description: "The Apps" }),
          ...refusals(401, 429, 503),
        },
      },
    },
    async (_request, reply) => reply.send([...(await service.apps())]),
  );
}
