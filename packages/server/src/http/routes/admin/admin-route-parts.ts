// What the routes of administration have in common.

import type { onRequestHookHandler } from "fastify";
import type { AdminService } from "../../../core/ports/driving/admin-service.ts";

export interface AdminParts {
  readonly service: AdminService;
  readonly requireKey: onRequestHookHandler;
}

/** What the document says of each of them. */
export const ADMIN = { tags: ["Administration"], security: [{ adminKey: [] }] };
