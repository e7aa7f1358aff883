// Schemas that several parts of the configuration file share.

import { z } from "zod";

/** The maximum delay of a Node timer in milliseconds, some 24 days. */
const LONGEST_TIMER = 2_147_483_647;
const DAY = 24 * 60 * 60 * 1000;

export const rig = z
  .string()
  .max(200)
  .regex(
    /^[^/\s\p{C}]+\/[^\s\p{C}]+$/u,
    "must be a provider's name, a slash and the provider's name of a model, such as demo/assistant",
  )
  // JSON Schema validators in editors may not support Unicode classes.
  .meta({ pattern: "^[^/\\s]+/\\S+$" });

/** A name of an App or a provider. */
export const shortName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$/,
    "must be a short name of letters, digits and the characters . - _",
  );

export function count(least: number, most: number): z.ZodInt {
  return z.int().min(least).max(most);
}

/** A limit of `rateLimits`. There is no "unlimited"; use a number that is never reached. */
export const rate = count(1, 1_000_000_000);
/** A limit of bytes, above what a message stores. */
const bytesRate = count(1024 * 1024, 1_000_000_000_000);
/** Rate limits that an App can override. */
export const APP_RATE_LIMITS = {
  chatsPerMinute: rate.describe(
    "Messages a minute per address; with an App key per `client_id`, or else per session. Secrets and repeated requests have the same limit each; the bodies of all of these may have ten times as many MiB per address, without those with a valid key.",
  ),
  keyChatsPerMinute: rate.describe("Messages a minute per App key."),
  writtenBytesPerMinute: bytesRate.describe(
    "Bytes a minute that messages, changes and copies store, per address; with an App key per `client_id`, or else per session.",
  ),
  appWrittenBytesPerMinute: bytesRate.describe("The same per App. Copies may use half of it."),
};

export const timer = count(1, LONGEST_TIMER);
export const period = count(1, 100 * 365 * DAY);
/** A period in days. */
export const days = count(1, 100 * 365);

/** Returns an unvalidated section of the file; empty if it is not an object. */
export function recordOf(section: unknown): Readonly<Record<string, unknown>> {
  return z.record(z.string(), z.unknown()).safeParse(section).data ?? {};
}
