// Joins the agent messages of a steered turn (contract section 2) for protocols with one answer per request.

import type { Message } from "@colloquy/protocol";

/** Returns true for the last agent message of a turn. */
export function isLastPart({ steps }: Pick<Message, "steps">): boolean {
  return steps?.to === undefined;
}

/**
 * Joins the agent messages of a turn, given oldest first, into one. The result has the id of the first
 * message and the status of the last one, or `streaming` if the turn's next message has not arrived. Returns
 * `null` for an empty list.
 */
export function joinAnswers(parts: readonly Message[]): Message | null {
  const [first, ...others] = parts;
  if (first === undefined) return null;
  const joined = others.reduce(join, first);
  return joined.status === "complete" && !isLastPart(parts.at(-1) ?? first)
    ? { ...joined, status: "streaming" }
    : joined;
}

function join(before: Message, part: Message): Message {
  const separator = before.content === "" || part.content === "" ? "" : "\n\n";
  const start = before.content.length + separator.length;
  const calls = (part.tool_calls ?? []).map((call) =>
    call.text_offset === undefined
      ? call
      : {
          ...call,
          text_offset: call.text_offset === 0 ? before.content.length : start + call.text_offset,
        },
  );
  const sources = [...(before.sources ?? []), ...(part.sources ?? [])];
  const { id, created_at } = before;
  return {
    ...before,
    ...part,
    id,
    created_at,
    content: before.content + separator + part.content,
    ...listed("tool_calls", [...(before.tool_calls ?? []), ...calls]),
    ...listed("tool_results", [...(before.tool_results ?? []), ...(part.tool_results ?? [])]),
    ...listed("sources", sources),
  };
}

/** Messages omit empty lists. */
function listed<Name extends string, Item>(name: Name, items: Item[]): { [Key in Name]?: Item[] } {
  return items.length === 0 ? {} : ({ [name]: items } as { [Key in Name]: Item[] });
}
