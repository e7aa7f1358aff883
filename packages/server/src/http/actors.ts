// Who sent a request, for the audit trail.

import type { FastifyRequest } from "fastify";
import type { Actor } from "../core/audit.ts";
import type { AuditTrail } from "../core/ports/driving/audit-service.ts";
import { ServiceError } from "../core/errors.ts";
import { clientAddress } from "./client-address.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who sent a request to the admin API; `null` before the check. */
    operator: Actor | null;
  }
}

type Who = Pick<Actor, "kind"> & Partial<Pick<Actor, "id" | "name">>;

export function actor(request: FastifyRequest, { kind, id = null, name = null }: Who): Actor {
  return { kind, id, name, address: clientAddress(request) ?? null, requestId: request.id };
}

/** Returns the sender of a request to the admin API, which the hook of its route has checked. */
export function operatorOf({ operator }: FastifyRequest): Actor {
  if (operator === null) throw new Error("A request to the admin API was not checked");
  return operator;
}

/** Returns the sender of a request that is not for the admin API: a key, also one that acts for a user, or else a user. */
export async function actorOf(request: FastifyRequest, audit: Pick<AuditTrail, "subjectOf">): Promise<Actor> {
  const { keyGrant, user } = request;
  if (keyGrant !== null) return actor(request, { kind: "key", id: keyGrant.keyId, name: keyGrant.name });
  if (user === null || user instanceof ServiceError) return actor(request, { kind: "client" });
  return actor(request, { kind: "user", id: await audit.subjectOf(user.owner) });
}
