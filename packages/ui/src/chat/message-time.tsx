import { useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";

/** Time of the surrounding message. */
export function MessageTime(): ReactNode {
  const createdAt = useAuiState(({ message }) => message.createdAt);
  const isToday = createdAt.toDateString() === new Date().toDateString();
  const shown = createdAt.toLocaleString([], {
    hour: "2-digit",
    minute: "2-digit",
    ...(!isToday && { day: "numeric", month: "short" }),
  });
  return (
    <time dateTime={createdAt.toISOString()} title={createdAt.toLocaleString()}>
      {shown}
    </time>
  );
}
