// Reports for operators, from the turns that are stored: of every process, over restarts, without sessions that are gone.

import { z } from "zod";
import { Timestamp } from "./timestamp.ts";

/** What a report says of itself. */
const reported = {
  from: Timestamp.meta({ description: "Beginning of the first bucket, which counts" }),
  to: Timestamp.meta({ description: "End, which does not count" }),
  turns_read: z.int().meta({ description: "Turns that ended in that time and were read, the newest first" }),
  covered_from: Timestamp.nullable().meta({
    description:
      "When there were more turns than one request reads: those that ended before are left out, and the bucket of this time is " +
      "incomplete. `null` when all were read",
  }),
};

export const AdminUsageRow = z.object({
  at: Timestamp.meta({ description: "Beginning of the bucket, in UTC" }),
  app: z.string(),
  model: z.string().nullable().meta({
    description: "`null` for turns that never started, and for those of versions that did not keep it",
  }),
  messages: z.int().meta({ description: "Messages of users, and answers that were begun" }),
  turns: z.int().meta({ description: "Turns that ended, however they did" }),
  failed_turns: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
});
export type AdminUsageRow = z.infer<typeof AdminUsageRow>;

export const AdminUsage = z.object({
  bucket: z.enum(["hour", "day"]),
  ...reported,
  rows: z.array(AdminUsageRow).meta({
    description: "Oldest first, then by App and model; a bucket in which no turn ended has no row",
  }),
});
export type AdminUsage = z.infer<typeof AdminUsage>;

export const AdminPercentiles = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number() })
  .meta({ description: "Milliseconds, of the turns that were read (nearest rank)" });
export type AdminPercentiles = z.infer<typeof AdminPercentiles>;

export const AdminLatencyRow = z.object({
  at: Timestamp.meta({ description: "Beginning of the bucket, in UTC" }),
  turns: z.int().meta({
    description: "Turns that ended complete or failed; what a person has interrupted does not count",
  }),
  total_ms: AdminPercentiles.meta({
    description: "From the message being stored to the end, with all waiting, also for people",
  }),
  running_ms: AdminPercentiles.meta({ description: "Running, over all attempts, without waiting" }),
  place_ms: AdminPercentiles.nullable().meta({
    description:
      "From the message being stored to the first start; `null` where no turn says when it started",
  }),
});
export type AdminLatencyRow = z.infer<typeof AdminLatencyRow>;

export const AdminLatency = z.object({
  bucket: z.enum(["minute", "hour", "day"]),
  ...reported,
  rows: z.array(AdminLatencyRow).meta({
    description: "Oldest first; a bucket in which no such turn ended has no row",
  }),
});
export type AdminLatency = z.infer<typeof AdminLatency>;
