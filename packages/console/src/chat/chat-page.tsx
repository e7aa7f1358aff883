import type { ReactNode } from "react";
import { Conversation } from "./conversation.tsx";
import type { ChatPageProps } from "./chat-page-props.ts";
import { NewChat } from "./new-chat.tsx";

/** A conversation, or the start of a new one. */
export function ChatPage({ sessionId, ...rest }: ChatPageProps): ReactNode {
  // Each conversation has its own composer, scroll position and errors.
  return sessionId === null ? (
    <NewChat {...rest} />
  ) : (
    <Conversation key={sessionId} sessionId={sessionId} {...rest} />
  );
}
