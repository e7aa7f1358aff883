// Reports for operators, computed from stored turns: across all processes and restarts, without deleted
// sessions.

import { z } from "zod";
import { Timestamp } from "./timestamp.ts";

/** Fields common to all reports. */
const reportFields = {
  from: Timestamp.meta({ description: "Start of the first bucket, inclusive" }),
  to: Timestamp.meta({ description: "End, exclusive" }),
  turns_read: z
    .int()
    .meta({ description: "Number of turns read: those that ended in this period, newest first" }),
  covered_from: Timestamp.nullable().meta({
    description:
      "Set if there were more turns than one request reads. Earlier turns are left out, and the bucket of this time is " +
      "incomplete. `null` if all were read",
  }),
};

export const AdminUsageRow = z.object({
  at: Timestamp.meta({ description: "Start of the bucket, in UTC" }),
  app: z.string(),
  model: z.string().nullable().meta({
    description:
      "`null` for turns that never started or were stored by versions that did not record the model",
  }),
  messages: z.int().meta({ description: "Messages of users and answers that started" }),
  turns: z.int().meta({ description: "Turns that ended, with any outcome" }),
  failed_turns: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
});
export type AdminUsageRow = z.infer<typeof AdminUsageRow>;

export const AdminUsage = z.object({
  bucket: z.enum(["hour", "day"]),
  ...reportFields,
  rows: z.array(AdminUsageRow).meta({
    description: "Oldest first, then by App and model; buckets in which no turn ended have no row",
  }),
});
export type AdminUsage = z.infer<typeof AdminUsage>;

export const AdminPercentiles = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number() })
  .meta({ description: "Milliseconds, over the turns that were read (nearest rank)" });
export type AdminPercentiles = z.infer<typeof AdminPercentiles>;

export const AdminLatencyRow = z.object({
  at: Timestamp.meta({ description: "Start of the bucket, in UTC" }),
  turns: z.int().meta({
    description: "Turns that completed or failed; interrupted turns do not count",
  }),
  total_ms: AdminPercentiles.meta({
    description: "From storing the message to the end, including all waiting, also for people",
  }),
  running_ms: AdminPercentiles.meta({ description: "Running time over all attempts, excluding waiting" }),
  place_ms: AdminPercentiles.nullable().meta({
    description: "From storing the message to the first start; `null` if no turn recorded its start",
  }),
});
export type AdminLatencyRow = z.infer<typeof AdminLatencyRow>;

export const AdminLatency = z.object({
  bucket: z.enum(["minute", "hour", "day"]),
  ...reportFields,
  rows: z.array(AdminLatencyRow).meta({
    description: "Oldest first; buckets without such a turn have no row",
  }),
});
export type AdminLatency = z.infer<typeof AdminLatency>;
