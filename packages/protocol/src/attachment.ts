import { z } from "zod";

export { ATTACHMENTS_MAX } from "./action-results.ts";

/** Maximum size of a file in bytes. */
export const FILE_MAX_BYTES = 20 * 1024 * 1024;

/** A file of a session. `GET /api/files/{id}` returns its bytes. */
export const Attachment = z.object({
  id: z.uuid(),
  media_type: z.string().meta({ description: "Detected type, without parameters" }),
  bytes: z.int().min(0),
  sha256: z.string().meta({ description: "SHA-256 of the bytes, hexadecimal" }),
  name: z.string(),
});
export type Attachment = z.infer<typeof Attachment>;

/** Field of a message with files. */
export const MESSAGE_ATTACHMENTS = {
  attachments: z.array(Attachment).optional().meta({
    description: "Files of the message, in the order of the chat; absent for none",
  }),
};

/** Field of a tool's result with files. */
export const RESULT_ATTACHMENTS = {
  attachments: z.array(Attachment).optional().meta({
    description: "Files that the tool returned, or the client that ran it; absent for none",
  }),
};
