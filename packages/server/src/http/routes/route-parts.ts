import type {
  FastifyContextConfig,
  FastifyInstance,
  RawServerDefault,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  FastifyBaseLogger,
  onRequestHookHandler,
} from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Services } from "../../core/ports/driving/services.ts";
import type { AdminService } from "../../core/ports/driving/admin-service.ts";
import type { Admission } from "../admission.ts";
import type { Answers } from "../answers.ts";
import type { AppGuard } from "../app-guard.ts";
import type { HttpConfig, RequestLog } from "../edge.ts";

export type HttpApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Dependencies of the routes. */
export interface RouteParts {
  readonly services: Services;
  readonly answers: Answers;
  readonly admission: Admission;
  readonly guard: AppGuard;
  readonly log: RequestLog;
  readonly config: HttpConfig;
  /** `null` disables the admin API. */
  readonly admin: AdminParts | null;
  readonly protocols: readonly ProtocolRoutes[];
  /** Version of the service. */
  readonly version: string;
}

/** Registers the routes of a foreign protocol (`protocols/`). */
export type ProtocolRoutes = (app: HttpApp, parts: RouteParts) => void;

export interface AdminParts {
  readonly service: AdminService;
  readonly requireKey: onRequestHookHandler;
}

/** Documentation that all admin operations share. */
export const ADMIN = { tags: ["Administration"], security: [{ adminKey: [] }] };

/** Returns hooks of a route whose handler counts requests per caller, so that admission counts them as `bodies` and not as `writes`. */
export function withoutWriteBudget<Hooks extends { readonly config: FastifyContextConfig }>(hooks: Hooks) {
  return { ...hooks, config: { ...hooks.config, skipsWriteBudget: true } } as const;
}
