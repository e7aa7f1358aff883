import type { ReactNode } from "react";
import type { ChatProps } from "./chat-props.ts";
import { ReplacedComponents } from "./components.tsx";
import { Conversation } from "./conversation.tsx";
import { NewChat } from "./new-chat.tsx";

/**
 * A conversation, or the start of a new one, with its title. Fills its container, which must be a flex
 * column.
 */
export function Chat({ sessionId, components, ...rest }: ChatProps): ReactNode {
  // Each conversation has its own composer, scroll position and errors.
  return (
    <ReplacedComponents by={components}>
      {sessionId === null ? (
        <NewChat {...rest} />
      ) : (
        <Conversation key={sessionId} sessionId={sessionId} {...rest} />
      )}
    </ReplacedComponents>
  );
}
