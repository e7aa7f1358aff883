import type { Registry } from "prom-client";
import { actionRoutes } from "./actions.ts";
import { authRoutes, siweRoutes } from "./auth.ts";
import { chatRoute, interruptRoute } from "./chat.ts";
import { feedbackRoute } from "./feedback.ts";
import { fileRoutes } from "./files.ts";
import { controlRoutes } from "./control.ts";
import { pageRoute } from "./page.ts";
import { probeRoutes } from "./probes.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";
import { searchRoute } from "./search.ts";
import { secretRoutes } from "./secrets.ts";
import { sessionRoutes } from "./sessions.ts";
import { stateRoute } from "./state.ts";
import { userDataRoutes } from "./users.ts";
import { adminUserRoutes } from "./admin/users.ts";
import { updatesRoute } from "./updates.ts";
import { adminAppRoutes, adminOverviewRoute, adminReportRoutes } from "./admin/reports.ts";
import { adminAuditRoute } from "./admin/audit.ts";
import { adminFeedbackRoute } from "./admin/feedback.ts";
import { adminKeyRoutes } from "./admin/keys.ts";
import { adminSessionRoutes } from "./admin/sessions.ts";

/**
 * Every operation that the document describes; `pinThread` (sessions.ts) is the smallest example. Tests fail until a new one is listed
 * in http/testing/operations.ts and test/isolation/classified-operations.ts, and `packages/client` has a method named like its
 * `operationId`.
 */
export async function allRoutes(app: HttpApp, parts: RouteParts, register: Registry): Promise<void> {
  sessionRoutes(app, parts);
  feedbackRoute(app, parts);
  searchRoute(app, parts);
  fileRoutes(app, parts);
  chatRoute(app, parts);
  stateRoute(app, parts);
  interruptRoute(app, parts);
  actionRoutes(app, parts);
  updatesRoute(app, parts);
  controlRoutes(app, parts);
  pageRoute(app, parts);
  secretRoutes(app, parts);
  authRoutes(app, parts);
  userDataRoutes(app, parts);
  siweRoutes(app, parts);
  for (const routes of parts.protocols) await app.register(routes);
  probeRoutes(app, parts, register);
  adminRoutes(app, parts);
}

/** Registers the admin routes only if there is an admin key; without one their paths are 404 and undocumented. */
function adminRoutes(app: HttpApp, parts: RouteParts): void {
  const { admin } = parts;
  if (admin === null) return;
  adminOverviewRoute(app, admin);
  adminSessionRoutes(app, admin);
  adminAppRoutes(app, admin);
  adminKeyRoutes(app, admin);
  adminReportRoutes(app, admin);
  adminAuditRoute(app, admin);
  adminFeedbackRoute(app, admin);
  adminUserRoutes(app, admin);
}
