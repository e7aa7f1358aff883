import type { HttpApp, RouteParts } from "../route-parts.ts";
import { adminAppRoutes } from "./apps.ts";
import { adminKeyRoutes } from "./keys.ts";
import { adminOverviewRoute } from "./overview.ts";
import { adminReportRoutes } from "./reports.ts";
import { adminSessionRoutes } from "./sessions.ts";

const PREFIX = "/api/admin/";

/**
 * Administration, where there is a key for it. Without one there are no such routes, so that their paths are answered as any other that
 * does not exist, whatever is asked of them, and the document, which says what this server answers, is silent about them.
 */
export function adminRoutes(app: HttpApp, parts: RouteParts): void {
  const { admin } = parts;
  if (admin === null) return;
  app.addHook("onRoute", (route) => {
    if (route.url.startsWith(PREFIX)) route.onRequest = [...[route.onRequest ?? []].flat(), admin.requireKey];
  });
  adminOverviewRoute(app, admin);
  adminSessionRoutes(app, admin);
  adminAppRoutes(app, admin);
  adminKeyRoutes(app, admin);
  adminReportRoutes(app, admin);
}
