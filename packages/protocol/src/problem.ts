import { z } from "zod";

/** The body of every error: `application/problem+json` (RFC 9457; contract section 6). */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().meta({ description: "What is wrong, and what to do" }),
  code: z.string().meta({ description: "Stable, machine-readable snake_case code" }),
  request_id: z.string(),
});
export type Problem = z.infer<typeof Problem>;
