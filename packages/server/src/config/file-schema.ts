// The shape of the configuration file (contract section 4), as far as this version goes. What depends on more than one place
// of the file (a rig's provider, a provider's key) is checked in models.ts and providers.ts, because a schema stops before
// such rules when anything else is wrong, and all problems are to be told at once.

import { z } from "zod";
import { PROVIDER_KINDS } from "./config.ts";

/** Timers of the platform hold no more milliseconds than this, some 24 days. */
const LONGEST_TIMER = 2_147_483_647;
const DAY = 24 * 60 * 60 * 1000;

export const BASE_URL_RULE = "must be an http or https URL without user name, password and query";

/** The tools that come with the service; an App without `tools` has all of them. */
export const BUILT_IN_TOOLS = ["current_time", "calculator"] as const;

const text = z.string().refine((value) => value.trim() !== "", "must not be blank");
const rig = z
  .string()
  .max(200)
  .regex(
    /^[^/\s\p{C}]+\/[^\s\p{C}]+$/u,
    "must be a provider's name, a slash and the provider's name of a model, such as demo/assistant",
  );

const count = (least: number, most: number): z.ZodOptional<z.ZodInt> =>
  z.int().min(least).max(most).optional();
const timer = count(1, LONGEST_TIMER);
const period = count(1, 100 * 365 * DAY);

const AppSection = z.strictObject({
  description: text.optional(),
  models: z.array(rig).min(1).optional(),
  utilityModel: rig.optional(),
  instructions: text.optional(),
  tools: z.array(z.enum(BUILT_IN_TOOLS)).optional(),
  onBusy: z.enum(["enqueue", "reject", "interrupt"]).optional(),
  expiry: z.strictObject({ emptyMs: period, unboundMs: period }).optional(),
});

export const ProviderSection = z.strictObject({
  kind: z.enum(PROVIDER_KINDS).optional(),
  baseURL: z.string().refine(isBaseURL, BASE_URL_RULE).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[a-z_][a-z0-9_]*$/i, "must be the name of an environment variable, not a key")
    .optional(),
  headers: z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9a-z-]+$/i, "must be the name of a header field"),
      z
        .string()
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "must be the value of a header field: one line of Latin-1 text"),
    )
    .optional(),
  maxRunningTurns: count(1, 100_000),
  contextWindow: count(1_000, 100_000_000),
});

export const ConfigFile = z.strictObject({
  apps: z.strictObject({ default: AppSection.optional() }).optional(),
  providers: z
    .record(
      z
        .string()
        .regex(
          /^[a-z0-9][a-z0-9_.-]{0,63}$/i,
          "must be a short name of letters, digits and the characters . - _",
        ),
      ProviderSection,
    )
    .optional(),
  cors: z
    .strictObject({
      origins: z.array(
        z
          .string()
          .refine(
            isOrigin,
            "must be an origin as browsers send it: scheme, host and port alone, such as https://app.example.com, or * for any",
          ),
      ),
    })
    .optional(),
  walletListing: z.enum(["on", "off"]).optional(),
  limits: z
    .strictObject({
      turnMs: timer,
      idleMs: timer,
      maxSteps: count(1, 1000),
      toolMs: timer,
      maxQueued: count(0, 1000),
      maxRunning: count(1, 100_000),
      maxWaiting: count(1, 10_000_000),
      memoryBytes: count(1024 * 1024, Number.MAX_SAFE_INTEGER),
      idleMemoryMs: timer,
      maxModelRetries: count(0, 20),
      actionMs: timer,
    })
    .optional(),
  retention: z.strictObject({ events: count(1, 1_000_000), eventMs: period }).optional(),
});

/** What someone writes into a configuration file; `export default {…} satisfies ConfigFile` checks it in an editor. */
export type ConfigFile = z.infer<typeof ConfigFile>;

export function isBaseURL(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === ""
  );
}

function isOrigin(value: string): boolean {
  if (value === "*") return true;
  const url = URL.parse(value);
  // "null" is what files and sandboxed pages send, each of them: to allow it would allow anyone.
  return url !== null && url.origin === value && value !== "null";
}
