import { getExternalStoreMessages, useAuiState } from "@assistant-ui/react";
import type { DisplayMessage } from "@colloquy/react/assistant-ui";

/** Returns the surrounding message with its details; `null` if the service does not have it yet. */
export function useDisplayMessage(): DisplayMessage | null {
  return useAuiState(({ message }) => {
    const [shown] = getExternalStoreMessages<DisplayMessage>(message);
    return shown !== undefined && "message" in shown ? shown : null;
  });
}
