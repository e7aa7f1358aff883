// What an operator is shown under `/api/admin`: the service, its sessions and turns, Apps and keys. Reports are in admin-reports.ts.

import { z } from "zod";
import { AnySessionId } from "./session-id.ts";
import { Timestamp } from "./timestamp.ts";

const Milliseconds = z.number().meta({ description: "Milliseconds" });

const Tokens = {
  input_tokens: z.int().meta({ description: "As the providers count them; 0 where they say nothing" }),
  output_tokens: z.int(),
};

export const AdminTurnState = z
  .enum(["queued", "running", "waiting", "complete", "interrupted", "failed"])
  .meta({
    description:
      "`queued` for its place or behind another turn, `running`, `waiting` for a person; the others are how it ended",
  });
export type AdminTurnState = z.infer<typeof AdminTurnState>;

export const AdminTurn = z.object({
  number: z.int().meta({ description: "The first turn of a session has 1" }),
  state: AdminTurnState,
  stuck: z
    .string()
    .nullable()
    .meta({ description: "What is wrong with it when it stands still although it should not; else `null`" }),
  model: z.string().nullable().meta({
    description:
      "The model it ran with last; `null` before it started, and for turns of versions that did not keep it",
  }),
  attempts: z.int().meta({ description: "How often it was started since it last waited for a person" }),
  steps: z.int().meta({ description: "Model steps that are finished" }),
  accepted_at: Timestamp.meta({ description: "When its message was stored" }),
  started_at: Timestamp.nullable().meta({
    description: "When it first had a place; `null` before, and for turns of versions that did not keep it",
  }),
  ended_at: Timestamp.nullable(),
  ran_ms: Milliseconds.meta({
    description: "Milliseconds that it has run, over all its attempts, without waiting",
  }),
  owner: z.string().nullable().meta({
    description: "Node that has its lease, as `node` in the overview of that node; `null` for nobody",
  }),
  lease_expires_at: Timestamp.nullable(),
  error: z.string().nullable().meta({ description: "Code of its failure, such as `model_timeout`" }),
  ...Tokens,
});
export type AdminTurn = z.infer<typeof AdminTurn>;

export const AdminSessionStatus = z.enum(["processing", "waiting", "stuck", "failed", "idle"]).meta({
  description:
    "`processing`: a turn runs or is queued. `waiting`: its turn waits for a person. `stuck`: its turn stands still although it " +
    "should not (`turn.stuck` says why). `failed`: its last turn failed. `idle`: none of these",
});
export type AdminSessionStatus = z.infer<typeof AdminSessionStatus>;

export const AdminSession = z.object({
  session_id: AnySessionId,
  title: z.string(),
  app: z.string(),
  model: z.string().meta({ description: "The model in force" }),
  public_key: z.string().nullable().meta({ description: "Wallet that it is bound to" }),
  status: AdminSessionStatus,
  created_at: Timestamp,
  updated_at: Timestamp.meta({ description: "When something last happened in it" }),
  used_at: Timestamp.meta({ description: "When somebody last used it, as it was noted: at least hourly" }),
  message_count: z.int(),
  turn_count: z.int(),
  turn: AdminTurn.nullable().meta({
    description: "The first turn that has not ended, else the last one; `null` when there was none",
  }),
});
export type AdminSession = z.infer<typeof AdminSession>;

export const AdminSessionPage = z.object({
  sessions: z
    .array(AdminSession)
    .meta({ description: "Newest use first; fewer than `limit`, even none, while there may be more" }),
  next_cursor: z.string().nullable().meta({ description: "Where the next page begins; `null` at the end" }),
  is_complete: z.boolean().meta({
    description:
      "false when more sessions have an open turn than one request looks at, so that some may not be listed",
  }),
});
export type AdminSessionPage = z.infer<typeof AdminSessionPage>;

export const AdminSessionDetail = z.object({
  session: AdminSession,
  turns: z.array(AdminTurn).meta({ description: "Newest first" }),
  next_before: z.int().nullable().meta({
    description: "Send it as `before` for the turns before these; `null` when there are none",
  }),
});
export type AdminSessionDetail = z.infer<typeof AdminSessionDetail>;

export const AdminToolSource = z.object({
  name: z.string().meta({ description: "Such as `built-in tools` or `mcp weather`" }),
  state: z.enum(["unused", "working", "failing"]).meta({
    description:
      "What came of the last turn that asked for its tools, in the process that answers; `unused`: none has asked yet",
  }),
  tools: z.int().nullable().meta({ description: "Tools that it gave then; `null` when none has asked yet" }),
  problem: z.string().nullable(),
  seen_at: Timestamp.nullable().meta({ description: "When that was" }),
});
export type AdminToolSource = z.infer<typeof AdminToolSource>;

export const AdminApp = z.object({
  name: z.string(),
  description: z.string().nullable(),
  is_configured: z.boolean().meta({
    description:
      "false for an App that has left the configuration while sessions or keys of it are still there",
  }),
  models: z.array(z.string()).meta({ description: "The first is its default" }),
  utility_model: z.string().nullable(),
  require_key: z.enum(["never", "chat", "all"]),
  tool_sources: z.array(AdminToolSource),
  good_keys: z.int().meta({ description: "Keys that open it now" }),
  sessions: z.int().meta({ description: "Stored sessions; counting stops at `counted_to`" }),
  counted_to: z.int(),
});
export type AdminApp = z.infer<typeof AdminApp>;

export const AdminKey = z.object({
  id: z.string().meta({ description: "The part of the key that may be shown" }),
  name: z.string().nullable(),
  apps: z.array(z.string()).meta({ description: "Apps that it opens" }),
  status: z.enum(["good", "revoked", "expired"]),
  created_at: Timestamp,
  expires_at: Timestamp.nullable(),
  revoked_at: Timestamp.nullable(),
});
export type AdminKey = z.infer<typeof AdminKey>;

export const IssuedAdminKey = AdminKey.extend({
  key: z.string().meta({ description: "The whole key: shown this once, kept nowhere" }),
});
export type IssuedAdminKey = z.infer<typeof IssuedAdminKey>;

const Health = {
  is_healthy: z.boolean(),
  problems: z.array(z.string()).meta({ description: "Sentences about what is wrong and what to look at" }),
};

export const AdminOverview = z.object({
  version: z.string(),
  time: Timestamp.meta({ description: "Now, on the clock of the process that answers" }),
  started_at: Timestamp.meta({ description: "When the process that answers was started" }),
  node: z.string().meta({ description: "Id of the process that answers; another one after each start" }),
  is_ready: z.boolean(),
  problems: z.array(z.string()).meta({ description: "Why it is not ready" }),
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
        description: "Wait for a place, or behind a turn of their session that does not wait for a person",
      }),
      waiting_turns: z.int().meta({ description: "Have asked a person something that is not decided" }),
      pending_actions: z.int(),
      counted_to: z
        .int()
        .meta({ description: "Counting stops here: a count that is as high means as many or more" }),
      working_nodes: z.array(z.object({ node: z.string(), running_turns: z.int() })).meta({
        description: "Processes that have a turn under a lease; one that has none is not known here",
      }),
    })
    .nullable()
    .meta({
      description: "In all processes on this store, as the store has it; `null` when it cannot be read",
    }),
  store: z.object({
    kind: z.enum(["sqlite", "postgresql"]),
    ...Health,
    read_ms: Milliseconds.nullable().meta({
      description: "What one small read has taken; `null`: it failed",
    }),
    commit_ms: Milliseconds.nullable().meta({
      description: "What one small commit has taken, to the disk; `null`: it failed",
    }),
    clock_ahead_ms: Milliseconds.nullable().meta({
      description: "The store's clock less that of this process",
    }),
  }),
  bus: z.object({
    kind: z.enum(["in-process", "postgresql", "nats"]),
    ...Health,
    round_trip_ms: Milliseconds.nullable().meta({
      description: "To the server of the bus and back; `null` without a server, and when it did not answer",
    }),
  }),
});
export type AdminOverview = z.infer<typeof AdminOverview>;
