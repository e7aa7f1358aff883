import type { ReactNode } from "react";
import { Conversation } from "./conversation.tsx";
import { NewChat } from "./new-chat.tsx";

export interface ChatPageProps {
  /** `null` for a conversation that has not begun. */
  readonly sessionId: string | null;
  /** What opens the menu on narrow screens. */
  readonly menu: ReactNode;
  readonly isDeveloping: boolean;
  readonly onDevelop: () => void;
  /** An App key is needed. */
  readonly onKeyWanted: () => void;
}

/** One conversation, or the beginning of a new one. */
export function ChatPage({ sessionId, ...rest }: ChatPageProps): ReactNode {
  // Each conversation has its own composer, scroll position and errors.
  return sessionId === null ? (
    <NewChat {...rest} />
  ) : (
    <Conversation key={sessionId} sessionId={sessionId} {...rest} />
  );
}
