// Probes and metrics.

import type { Registry } from "prom-client";
import { z } from "zod";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { refusals } from "../operation.ts";
import { type HttpApp, PUBLIC, type RouteParts } from "./route-parts.ts";

const TAGS = ["Operations"];
const RETRY_SECONDS = 5;

const ALIVE = {
  operationId: "alive",
  summary: "Liveness of the process",
  tags: TAGS,
  response: {
    200: z.object({ status: z.literal("ok"), version: z.string() }).meta({ description: "Alive" }),
    ...refusals(),
  },
};
const READY = {
  operationId: "ready",
  summary: "Readiness for traffic",
  tags: TAGS,
  response: {
    200: z.object({ status: z.literal("ready") }).meta({ description: "Ready" }),
    ...refusals(503),
  },
};
const METRICS = {
  operationId: "metrics",
  summary: "Metrics for Prometheus",
  tags: TAGS,
  response: {
    200: { description: "Text exposition format", content: { "text/plain": { schema: z.string() } } },
    ...refusals(),
  },
};

export function probeRoutes(app: HttpApp, { services, version }: RouteParts, register: Registry): void {
  app.get("/healthz", { config: PUBLIC, schema: ALIVE }, () => ({ status: "ok" as const, version }));

  app.get("/readyz", { config: PUBLIC, schema: READY }, async () => {
    const problems = await services.readiness.problems();
    if (problems.length === 0 && !services.readiness.stopping) return { status: "ready" as const };
    const why = problems.length > 0 ? problems.join(" ") : "The service is stopping.";
    throw new Unavailable(503, "not_ready", `The service cannot take traffic. ${why}`, RETRY_SECONDS);
  });

  app.get("/metrics", { config: PUBLIC, schema: METRICS }, async (_request, reply) =>
    reply.type(register.contentType).send(await register.metrics()),
  );
}
