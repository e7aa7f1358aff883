import type { Message, PersistedMessage } from "@colloquy/protocol";

/** Records do not contain the status of a message, so it counts as complete. */
export function messageOfRecord(record: PersistedMessage): Message {
  const {
    session_id: _session,
    thread_id: _thread,
    role,
    tool_calls: calls,
    tool_results: results,
    ...rest
  } = record;
  return {
    ...rest,
    sender: role === "user" ? "user" : "agent",
    status: "complete",
    ...(calls !== null && { tool_calls: calls }),
    ...(results !== null && { tool_results: results }),
  };
}
