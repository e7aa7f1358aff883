import { useMemo, type ReactNode } from "react";
import { Chat } from "../chat/chat.tsx";
import type { ChatProps } from "../chat/chat-props.ts";
import type { Address } from "../chat/page-context.tsx";
import { ErrorBoundary } from "../design/error-boundary.tsx";
import { ChatProvider, type ChatProviderProps } from "./chat-provider.tsx";
import { useInBrowser } from "./use-in-browser.ts";

export interface SingleChatProps
  extends Omit<ChatProviderProps, "address" | "children">,
    Pick<ChatProps, "menu" | "actions" | "components"> {
  readonly sessionId: string;
}

/**
 * A single conversation, without links to others and without "Continue in a copy". Fills its container. Renders only
 * a frame on a server.
 */
export function SingleChat(props: SingleChatProps): ReactNode {
  return useInBrowser() ? <Single {...props} /> : <div className="cq cq-single-chat" />;
}

function Single({ sessionId, menu, actions, components, ...provider }: SingleChatProps): ReactNode {
  const address = useMemo(
    (): Address => ({ hrefOf: () => "#", open: () => undefined, shown: () => sessionId, isFixed: true }),
    [sessionId],
  );
  return (
    <ChatProvider {...provider} address={address}>
      <div className="cq cq-single-chat">
        <ErrorBoundary key={sessionId}>
          <Chat sessionId={sessionId} menu={menu} actions={actions} components={components} />
        </ErrorBoundary>
      </div>
    </ChatProvider>
  );
}
