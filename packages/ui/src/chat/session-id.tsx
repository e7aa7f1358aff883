import { createContext, use } from "react";

/** The id of the shown conversation, for components inside messages. */
export const SessionIdContext = createContext<string | null>(null);

export function useSessionId(): string {
  const id = use(SessionIdContext);
  if (id === null) throw new Error("useSessionId needs a SessionIdContext above it.");
  return id;
}
