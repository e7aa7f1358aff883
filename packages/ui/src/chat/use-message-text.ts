import { useAuiState } from "@assistant-ui/react";

/**
 * Returns the text of the surrounding message, with a blank line between the parts before and after a tool
 * call.
 */
export function useMessageText(): string {
  return useAuiState(({ message }) =>
    message.content
      .flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
      .join("\n\n"),
  );
}
