// Feedback on answers under `/api/admin/feedback`.

import { z } from "zod";
import { Feedback } from "./snapshot.ts";

export const AdminFeedback = Feedback.extend({
  session_id: z.string().meta({ description: "For callers without `admin:write` the handle of the session" }),
  app: z.string(),
  message_id: z.string(),
  turn: z.int().min(1),
});
export type AdminFeedback = z.infer<typeof AdminFeedback>;

export const AdminFeedbackPage = z.object({
  feedback: z.array(AdminFeedback).meta({ description: "Newest first" }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "`cursor` of the next page; `null` on the last one" }),
});
export type AdminFeedbackPage = z.infer<typeof AdminFeedbackPage>;
