import { AdminOverview } from "../../documented-admin.ts";
import { refusals } from "../../operation.ts";
import type { HttpApp } from "../route-parts.ts";
import { ADMIN, type AdminParts } from "./admin-route-parts.ts";

export function adminOverviewRoute(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/overview",
    {
      schema: {
        operationId: "adminOverview",
        summary: "See how the service is doing",
        description:
          "The process that answers, what runs and waits in all of them, and the health of store and bus, which are asked for this: " +
          "it costs the store a read and a small commit. Answered too while the store or the bus is away.",
        ...ADMIN,
        response: { 200: AdminOverview, ...refusals(401, 429) },
      },
    },
    () => service.overview(),
  );
}
