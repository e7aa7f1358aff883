import type { Message } from "@colloquy/protocol";

/** Returns the sources of a message as parts. The same objects are valid chunks. */
export function sourceParts({ sources = [] }: Pick<Message, "sources">) {
  return sources.map(({ id: sourceId, url, title }) => ({
    type: "source-url" as const,
    sourceId,
    url,
    ...(title !== undefined && { title }),
  }));
}
