import { useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import { IconButton } from "../design/button.tsx";
import { GitFork } from "../design/icons.tsx";
import { usePage } from "./page-context.tsx";
import { useSessionId } from "./session-id.tsx";
import { useFork } from "./use-fork.ts";

/** Copies the conversation up to the surrounding answer into a new one, and opens the copy. */
export function ForkButton(): ReactNode {
  const through = useAuiState(({ message }) => message.id);
  const { address } = usePage();
  const { isForking, fork } = useFork(useSessionId());
  if (address.isFixed === true) return null;
  return (
    <IconButton
      size="small"
      aria-disabled={isForking}
      label="Continue in a copy"
      onClick={() => void fork({ through })}
    >
      <GitFork size={15} />
    </IconButton>
  );
}
