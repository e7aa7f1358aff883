import type { FastifyInstance } from "fastify";
import type { AdminService } from "../../admin/administration.ts";
import type { Admission } from "../admission.ts";
import type { Answers } from "../answers.ts";
import type { Operators } from "../access/operators.ts";
import type { HttpConfig, RequestLog } from "../edge.ts";
import type { Services } from "../services.ts";

export type { HttpApp } from "../http-app.ts";

/** Dependencies of the routes. */
export interface RouteParts {
  readonly services: Services;
  readonly answers: Answers;
  readonly admission: Admission;
  readonly log: RequestLog;
  readonly config: HttpConfig;
  /** `null` disables the admin API. */
  readonly admin: AdminParts | null;
  readonly protocols: readonly ProtocolRoutes[];
  /** Folder of the guide, which may be built while the service runs; `null` if it is not served. */
  readonly guide: string | null;
  /** Version of the service. */
  readonly version: string;
}

/** Registers the routes of a protocol on an instance of their own. */
export type ProtocolRoutes = (app: FastifyInstance) => Promise<void>;

export interface AdminParts {
  readonly service: AdminService;
  readonly operators: Operators;
}

/** Documentation that all admin operations share. */
export const ADMIN = { tags: ["Administration"], security: [{ adminKey: [] }] };

export const OPERATOR = { access: "operator" } as const;
export const PUBLIC = { access: "public" } as const;
