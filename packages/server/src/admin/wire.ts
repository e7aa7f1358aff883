// Converts stored records to the wire format.

import type { AdminKey, AdminSession, AdminSummary, AdminTurn, IssuedAdminKey } from "@colloquy/protocol";
import { ranInAttempt } from "@colloquy/engine/internal/core/turn";
import type {
  SeenSession,
  SeenSummary,
  SeenTurn,
} from "@colloquy/engine/internal/core/ports/driven/admin-store";
import type { IssuedKey, ListedKey } from "@colloquy/engine/internal/core/ports/driving/credentials";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import { type HealthLimits, sessionStatus, whyStuck } from "@colloquy/engine/internal/core/turn-health";

/** Formats milliseconds since the Unix epoch as an ISO 8601 time. */
export function timeText(at: number): string {
  return new Date(at).toISOString();
}

export function timeOrNull(at: number | null): string | null {
  return at === null ? null : timeText(at);
}

/** Converts a session. `at` is the current time of the store. */
export function toAdminSession(
  session: SeenSession,
  at: number,
  { limits, handles }: { readonly limits: HealthLimits; readonly handles: SessionHandles },
): AdminSession {
  const { turn, updatedAt } = session;
  return {
    session_id: session.spelling,
    handle: handles.of(session.id),
    title: session.title,
    app: session.app,
    model: session.model,
    public_key: session.publicKey,
    status: sessionStatus(session, at, limits),
    created_at: timeText(session.createdAt),
    updated_at: timeText(updatedAt),
    used_at: timeText(session.usedAt),
    message_count: session.messageCount,
    turn_count: session.turnCount,
    turn: turn === null ? null : toAdminTurn(turn, at, whyStuck(turn, updatedAt, at, limits)),
  };
}

export function toAdminTurn({ turn, lease }: SeenTurn, at: number, stuck: string | null): AdminTurn {
  return {
    number: turn.number,
    state: turn.state,
    stuck,
    model: turn.model,
    attempts: turn.attempts,
    steps: turn.steps,
    accepted_at: timeText(turn.enqueuedAt),
    started_at: timeOrNull(turn.startedAt),
    ended_at: timeOrNull(turn.endedAt),
    ran_ms: turn.ranMs + ranInAttempt(turn, lease, at),
    owner: lease?.owner ?? null,
    lease_expires_at: timeOrNull(lease?.expiresAt ?? null),
    error: turn.failure,
    input_tokens: turn.usage.inputTokens,
    output_tokens: turn.usage.outputTokens,
  };
}

export function toAdminSummary({ turn, tokensBefore, tokensAfter, at }: SeenSummary): AdminSummary {
  return { turn, tokens_before: tokensBefore, tokens_after: tokensAfter, created_at: timeText(at) };
}

export function toAdminKey(listed: ListedKey): AdminKey {
  const { id, name, apps, scopes, status, createdAt, expiresAt, revokedAt } = listed;
  return {
    id,
    name,
    apps: [...apps],
    scopes: [...scopes],
    status,
    created_at: timeText(createdAt),
    expires_at: timeOrNull(expiresAt),
    revoked_at: timeOrNull(revokedAt),
  };
}

export function toIssuedKey(issued: IssuedKey): IssuedAdminKey {
  return { ...toAdminKey(issued), key: issued.key };
}
