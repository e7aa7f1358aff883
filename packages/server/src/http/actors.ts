// The actors of requests, for the audit trail.

import type { FastifyRequest } from "fastify";
import type { Actor } from "@colloquy/engine/internal/core/audit";
import type { Reader } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import { clientAddress } from "./client-address.ts";
import type { Services } from "./services.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The actor of a request to the admin API; `null` before the check. */
    operator: Actor | null;
    /** True if the operator may change sessions, and so may know their ids. */
    seesSessionIds: boolean;
  }
}

type Who = Pick<Actor, "kind"> & Partial<Pick<Actor, "id" | "name">>;

export function actor(request: FastifyRequest, { kind, id = null, name = null }: Who): Actor {
  return { kind, id, name, address: clientAddress(request) ?? null, requestId: request.id };
}

/** Returns the actor of a request to the admin API, which the route's hook has authenticated. */
export function operatorOf({ operator }: FastifyRequest): Actor {
  if (operator === null) throw new Error("A request to the admin API was not checked");
  return operator;
}

/** Like `operatorOf`, for reads. */
export function readerOf(request: FastifyRequest): Reader {
  return { actor: operatorOf(request), seesIds: request.seesSessionIds };
}

/** Returns the actor of a request outside the admin API: the key, even if it acts for a user, else the user. */
export async function actorOf(
  request: FastifyRequest,
  audit: Pick<Services["audit"], "subjectOf">,
): Promise<Actor> {
  const { grant, user } = request.caller;
  if (grant !== null) return actor(request, { kind: "key", id: grant.keyId, name: grant.name });
  if (user === null) return actor(request, { kind: "client" });
  return actor(request, { kind: "user", id: await audit.subjectOf(user.owner) });
}
