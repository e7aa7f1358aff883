// Answers under `/api/admin`: the service, its sessions and turns, Apps and keys. For reports see
// admin-reports.ts.

import { z } from "zod";
import { PendingAction } from "./actions.ts";
import { SessionHandle, ShownSessionId } from "./session-id.ts";
import { Summary } from "./snapshot.ts";
import { PersistedMessage } from "./thread.ts";
import { Timestamp } from "./timestamp.ts";

const Milliseconds = z.number().meta({ description: "Milliseconds" });

const Tokens = {
  input_tokens: z.int().meta({ description: "As counted by the provider; 0 if it reports nothing" }),
  output_tokens: z.int(),
};

export const AdminTurnState = z
  .enum(["queued", "running", "waiting", "complete", "interrupted", "failed"])
  .meta({
    description:
      "`queued` for a slot or behind another turn, `running`, `waiting` for a person; the others say how it ended",
  });
export type AdminTurnState = z.infer<typeof AdminTurnState>;

export const AdminTurn = z.object({
  number: z.int().meta({ description: "The first turn of a session is 1" }),
  state: AdminTurnState,
  stuck: z
    .string()
    .nullable()
    .meta({ description: "Why the turn makes no progress although it should; else `null`" }),
  model: z.string().nullable().meta({
    description:
      "The model of its last run; `null` before it started, and for turns of versions that did not record it",
  }),
  attempts: z.int().meta({ description: "Number of starts since it last waited for a person" }),
  steps: z.int().meta({ description: "Completed model steps" }),
  accepted_at: Timestamp.meta({ description: "When its message was stored" }),
  started_at: Timestamp.nullable().meta({
    description: "When it first got a slot; `null` before, and for turns of versions that did not record it",
  }),
  ended_at: Timestamp.nullable(),
  ran_ms: Milliseconds.meta({
    description: "Milliseconds of running over all attempts, excluding waiting",
  }),
  owner: z.string().nullable().meta({
    description: "Node that holds its lease, as `node` in the overview of that node; `null` if none does",
  }),
  lease_expires_at: Timestamp.nullable(),
  error: z.string().nullable().meta({ description: "Code of the failure, such as `model_timeout`" }),
  ...Tokens,
});
export type AdminTurn = z.infer<typeof AdminTurn>;

export const AdminSessionStatus = z.enum(["processing", "waiting", "stuck", "failed", "idle"]).meta({
  description:
    "`processing`: a turn runs or is queued. `waiting`: its turn waits for a person. `stuck`: its turn makes no progress although it " +
    "should not (`turn.stuck` says why). `failed`: its last turn failed. `idle`: none of these",
});
export type AdminSessionStatus = z.infer<typeof AdminSessionStatus>;

export const AdminSession = z.object({
  session_id: ShownSessionId,
  handle: SessionHandle,
  title: z.string(),
  app: z.string(),
  model: z.string().meta({ description: "Current model" }),
  public_key: z.string().nullable().meta({
    description:
      "Bound wallet address; `null` for none, and for callers without `admin:write`, because it lists the ids of its threads",
  }),
  status: AdminSessionStatus,
  created_at: Timestamp,
  updated_at: Timestamp.meta({ description: "Last change of the session" }),
  used_at: Timestamp.meta({ description: "Last use of the session, recorded at least hourly" }),
  message_count: z.int(),
  turn_count: z.int(),
  turn: AdminTurn.nullable().meta({
    description: "The first turn that has not ended, else the last one; `null` if there are none",
  }),
});
export type AdminSession = z.infer<typeof AdminSession>;

export const AdminSessionPage = z.object({
  sessions: z.array(AdminSession).meta({
    description: "Most recently used first; may hold fewer than `limit` items, or none, while there are more",
  }),
  next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one" }),
  is_complete: z.boolean().meta({
    description:
      "false if more sessions have an open turn than one request examines, so that some may be missing",
  }),
});
export type AdminSessionPage = z.infer<typeof AdminSessionPage>;

export const AdminSummary = Summary.extend({
  turn: z.int().meta({ description: "The last turn that the summary covers" }),
});
export type AdminSummary = z.infer<typeof AdminSummary>;

export const AdminSessionDetail = z.object({
  session: AdminSession,
  turns: z.array(AdminTurn).meta({ description: "Newest first" }),
  next_before: z.int().nullable().meta({
    description: "Send it as `before` to get earlier turns; `null` if there are none",
  }),
  summaries: z.array(AdminSummary).meta({
    description:
      "Summaries that have replaced earlier messages in prompts, oldest first. Each also replaces the previous one, so the sum of all differences is what the newest one saves in each prompt",
  }),
  pending_actions: z.array(PendingAction).meta({ description: "Actions that wait for a decision" }),
});
export type AdminSessionDetail = z.infer<typeof AdminSessionDetail>;

export const AdminMessage = PersistedMessage.extend({
  session_id: ShownSessionId,
  thread_id: ShownSessionId,
});
export type AdminMessage = z.infer<typeof AdminMessage>;

export const AdminToolSource = z.object({
  name: z.string().meta({ description: "For example `built-in tools` or `mcp weather`" }),
  state: z.enum(["unused", "working", "failing"]).meta({
    description:
      "Outcome of the last load of its tools in the process that answers; `unused`: not loaded yet",
  }),
  tools: z
    .int()
    .nullable()
    .meta({ description: "Number of tools at the last load; `null` if not loaded yet" }),
  problem: z.string().nullable(),
  seen_at: Timestamp.nullable().meta({ description: "Time of the last load" }),
});
export type AdminToolSource = z.infer<typeof AdminToolSource>;

export const AdminApp = z.object({
  name: z.string(),
  description: z.string().nullable(),
  is_configured: z.boolean().meta({
    description: "false for an App that was removed from the configuration but still has sessions or keys",
  }),
  models: z.array(z.string()).meta({ description: "The first is the App's default" }),
  utility_model: z.string().nullable(),
  require_key: z.enum(["never", "chat", "all"]),
  tool_sources: z.array(AdminToolSource),
  good_keys: z.int().meta({ description: "Number of keys that open it now" }),
  sessions: z.int().meta({ description: "Number of stored sessions; counting stops at `counted_to`" }),
  counted_to: z.int(),
});
export type AdminApp = z.infer<typeof AdminApp>;

/** What a key may be used for: to change sessions, to read them, to manage secrets. */
export const KeyScope = z.enum(["chat", "read", "secrets", "act_as", "admin:read", "admin:write"]);
export type KeyScope = z.infer<typeof KeyScope>;

export const AdminKey = z.object({
  id: z.string().meta({ description: "The part of the key that may be displayed" }),
  name: z.string().nullable(),
  apps: z.array(z.string()).meta({ description: "Apps that the key opens; none for a key of an operator" }),
  scopes: z.array(KeyScope).meta({ description: "What the key may be used for" }),
  status: z.enum(["good", "revoked", "expired"]),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
});
export type AdminKey = z.infer<typeof AdminKey>;

export const IssuedAdminKey = AdminKey.extend({
  key: z.string().meta({ description: "The full key: shown only in this answer, never stored" }),
});
export type IssuedAdminKey = z.infer<typeof IssuedAdminKey>;

const Health = {
  is_healthy: z.boolean(),
  problems: z.array(z.string()).meta({ description: "Sentences that name a problem and what to check" }),
};

export const AdminOverview = z.object({
  version: z.string(),
  time: Timestamp.meta({ description: "Current time on the clock of the process that answers" }),
  started_at: Timestamp.meta({ description: "Start time of the process that answers" }),
  node: z.string().meta({ description: "Id of the process that answers; it changes with each start" }),
  is_ready: z.boolean(),
  problems: z.array(z.string()).meta({ description: "Why the process is not ready" }),
  here: z
    .object({
      sessions_in_memory: z.int(),
      snapshot_bytes: z.int(),
      open_streams: z.int(),
      running_turns: z.int(),
    })
    .meta({ description: "In the process that answers" }),
  everywhere: z
    .object({
      running_turns: z.int(),
      queued_turns: z.int().meta({
        description: "Waiting for a slot, or behind a turn of their session that does not wait for a person",
      }),
      waiting_turns: z.int().meta({ description: "Waiting for the decision of a person" }),
      pending_actions: z.int(),
      counted_to: z
        .int()
        .meta({ description: "Counting stops here: an equal count means this many or more" }),
      working_nodes: z.array(z.object({ node: z.string(), running_turns: z.int() })).meta({
        description: "Processes that hold a lease of a turn; a process without a running turn is not listed",
      }),
    })
    .nullable()
    .meta({
      description: "Of all processes on this store, as read from the store; `null` if it cannot be read",
    }),
  store: z.object({
    kind: z.string().meta({ description: "`sqlite`, `postgresql`, or the name of another backend." }),
    ...Health,
    read_ms: Milliseconds.nullable().meta({
      description: "Duration of one small read; `null` if it failed",
    }),
    commit_ms: Milliseconds.nullable().meta({
      description: "Duration of one small durable commit; `null` if it failed",
    }),
    clock_ahead_ms: Milliseconds.nullable().meta({
      description: "The store's clock minus this process's clock",
    }),
  }),
  bus: z.object({
    kind: z.string().meta({
      description:
        "What carries notifications between nodes: `in-process` without other nodes, `postgresql`, `nats`, or the name of another plugin.",
    }),
    ...Health,
    round_trip_ms: Milliseconds.nullable().meta({
      description: "Round trip to the bus server; `null` without a server, or if it did not answer",
    }),
  }),
});
export type AdminOverview = z.infer<typeof AdminOverview>;
