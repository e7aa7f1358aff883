import { z } from "zod";
import { AdminLatency, AdminUsage, AdminApp, AdminOverview } from "../../documented.ts";
import { refusals, time } from "../../operation.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";

const BOUNDS =
  "From the turns of sessions that are still there, by when they ended. At most 1,500 buckets; of at most 50,000 turns, the newest " +
  "(`covered_from` says where they end).";

const range = {
  from: time("Beginning, taken down to that of its bucket; 24 hours before `to` when absent"),
  to: time("End, which does not count; now when absent"),
};

function bucketOf<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z
    .enum(names, `must be one of ${names.join(", ")}`)
    .optional()
    .meta({ description: "Length of a bucket, in UTC; `hour` when absent" });
}

export function adminReportRoutes(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/usage",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminUsage",
        summary: "Report what was used",
        description: `Messages, turns and tokens by time, App and model. ${BOUNDS}`,
        ...ADMIN,
        querystring: z.object({ ...range, bucket: bucketOf(["hour", "day"]) }),
        response: { 200: AdminUsage, ...refusals(401, 403, 429, 503) },
      },
    },
    (request) => {
      const { from = null, to = null, bucket = "hour" } = request.query;
      return service.usage({ from, to, bucket });
    },
  );

  app.get(
    "/api/admin/latency",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminLatency",
        summary: "Report how long turns took",
        description: `Percentiles by time. ${BOUNDS}`,
        ...ADMIN,
        querystring: z.object({ ...range, bucket: bucketOf(["minute", "hour", "day"]) }),
        response: { 200: AdminLatency, ...refusals(401, 403, 429, 503) },
      },
    },
    (request) => {
      const { from = null, to = null, bucket = "hour" } = request.query;
      return service.latency({ from, to, bucket });
    },
  );
}

export function adminAppRoutes(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/apps",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListApps",
        summary: "List the Apps",
        description:
          "The configured ones in their order, then those that are gone and still have sessions or keys. How a tool source is doing is " +
          "what the process that answers saw last.",
        ...ADMIN,
        response: {
          200: z.array(AdminApp).meta({ description: "Apps" }),
          ...refusals(401, 403, 429, 503),
        },
      },
    },
    async (_request, reply) => reply.send([...(await service.apps())]),
  );
}

export function adminOverviewRoute(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/overview",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminOverview",
        summary: "See how the service is doing",
        description:
          "The process that answers, what runs and waits in all of them, and the health of store and bus, which are asked for this: " +
          "it costs the store a read and a small commit. Answered too while the store or the bus is away.",
        ...ADMIN,
        response: { 200: AdminOverview, ...refusals(401, 403, 429) },
      },
    },
    () => service.overview(),
  );
}
