// Search over conversations: `GET /api/search`.

import { z } from "zod";
import { AnySessionId } from "./session-id.ts";
import { Message } from "./snapshot.ts";
import { Timestamp } from "./timestamp.ts";

/** A piece of a message. */
export const SnippetSegment = z.object({
  text: z.string(),
  match: z
    .literal(true)
    .optional()
    .meta({ description: "`true` for what the search has found; absent otherwise" }),
});

export const SearchResult = z.object({
  session_id: AnySessionId,
  title: z.string().meta({ description: "Title of the conversation" }),
  message_id: z.uuid(),
  sender: Message.shape.sender,
  created_at: Timestamp,
  snippet: z
    .array(SnippetSegment)
    .meta({ description: "The message where it matches: plain text in pieces, about 200 characters in all" }),
});
export type SearchResult = z.infer<typeof SearchResult>;

export const SearchPage = z.object({
  results: z.array(SearchResult).meta({ description: "Newest message first; each message once" }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "`cursor` of the next page; `null` on the last one" }),
});
export type SearchPage = z.infer<typeof SearchPage>;
