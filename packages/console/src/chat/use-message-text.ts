import { useAuiState } from "@assistant-ui/react";

/** The words of the message that is around. */
export function useMessageText(): string {
  return useAuiState(({ message }) =>
    message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
  );
}
