import { useAuiState } from "@assistant-ui/react";

/** The words of the message that is around; what was said before and after a tool call stands apart by a blank line. */
export function useMessageText(): string {
  return useAuiState(({ message }) =>
    message.content
      .flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
      .join("\n\n"),
  );
}
