import type { Registry } from "prom-client";
import { actionRoutes } from "./actions.ts";
import { authRoutes, siweRoutes } from "./auth.ts";
import { chatRoute, interruptRoute } from "./chat.ts";
import { controlRoutes } from "./control.ts";
import { operationsRoutes } from "./operations.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";
import { secretRoutes } from "./secrets.ts";
import { sessionRoutes } from "./sessions.ts";
import { stateRoute } from "./state.ts";
import { userDataRoutes } from "./users.ts";
import { adminUserRoutes } from "./admin/users.ts";
import { updatesRoute } from "./updates.ts";
import { adminAppRoutes, adminOverviewRoute, adminReportRoutes } from "./admin/reports.ts";
import { adminAuditRoute } from "./admin/audit.ts";
import { adminKeyRoutes } from "./admin/keys.ts";
import { adminSessionRoutes } from "./admin/sessions.ts";

/**
 * Every operation that the document describes; `pinThread` (sessions.ts) is the smallest example. Tests fail until a new one is listed
 * in http/testing/operations.ts and test/isolation/classified-operations.ts, and `packages/client` has a method named like its
 * `operationId`.
 */
export function allRoutes(app: HttpApp, parts: RouteParts, register: Registry): void {
  sessionRoutes(app, parts);
  chatRoute(app, parts);
  stateRoute(app, parts);
  interruptRoute(app, parts);
  actionRoutes(app, parts);
  updatesRoute(app, parts);
  controlRoutes(app, parts);
  secretRoutes(app, parts);
  authRoutes(app, parts);
  userDataRoutes(app, parts);
  siweRoutes(app, parts);
  for (const routes of parts.protocols) routes(app, parts);
  operationsRoutes(app, parts, register);
  adminRoutes(app, parts);
}

const ADMIN_PREFIX = "/api/admin/";

/** Registers the admin routes only if there is an admin key; without one their paths are 404 and undocumented. */
function adminRoutes(app: HttpApp, parts: RouteParts): void {
  const { admin } = parts;
  if (admin === null) return;
  app.addHook("onRoute", (route) => {
    if (route.url.startsWith(ADMIN_PREFIX))
      route.onRequest = [...[route.onRequest ?? []].flat(), admin.requireKey];
  });
  adminOverviewRoute(app, admin);
  adminSessionRoutes(app, admin);
  adminAppRoutes(app, admin);
  adminKeyRoutes(app, admin);
  adminReportRoutes(app, admin);
  adminAuditRoute(app, admin);
  adminUserRoutes(app, admin);
}
