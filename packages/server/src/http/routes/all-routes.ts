import type { Registry } from "prom-client";
import { actionRoutes } from "./actions.ts";
import { adminRoutes } from "./admin/all-admin-routes.ts";
import { chatRoute } from "./chat.ts";
import { controlRoutes } from "./control.ts";
import { interruptRoute } from "./interrupt.ts";
import { operationsRoutes } from "./operations.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";
import { secretRoutes } from "./secrets.ts";
import { sessionRoutes } from "./sessions.ts";
import { stateRoute } from "./state.ts";
import { updatesRoute } from "./updates.ts";

/** Every operation that the document describes. */
export function allRoutes(app: HttpApp, parts: RouteParts, register: Registry): void {
  sessionRoutes(app, parts);
  chatRoute(app, parts);
  stateRoute(app, parts);
  interruptRoute(app, parts);
  actionRoutes(app, parts);
  updatesRoute(app, parts);
  controlRoutes(app, parts);
  secretRoutes(app, parts);
  operationsRoutes(app, parts, register);
  adminRoutes(app, parts);
}
