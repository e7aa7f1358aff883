import type { ReactNode } from "react";
import { Chat } from "../chat/chat.tsx";
import type { ChatProps } from "../chat/chat-props.ts";
import { MissedBar } from "../chat/missed-bar.tsx";
import { ErrorBoundary } from "../design/error-boundary.tsx";
import { ChatProvider, type ChatProviderProps } from "./chat-provider.tsx";
import { Frame } from "./frame.tsx";
import { useHashSession } from "./hash-address.ts";
import { Navigation } from "./navigation.tsx";
import { useInBrowser } from "./use-in-browser.ts";

export interface ChatPageProps
  extends Omit<ChatProviderProps, "address" | "children">,
    Pick<ChatProps, "actions" | "pickers" | "components"> {
  /** Rendered above the list of conversations: name or logo. */
  readonly brand?: ReactNode;
  /** Rendered below the list of conversations. */
  readonly footer?: ReactNode;
  /** Rendered inside the provider, for hooks such as `useClientTool`. */
  readonly children?: ReactNode;
}

/**
 * A complete chat page: the list of conversations at the left, one of them in the middle. Fills its
 * container. Empty while a server renders it.
 */
export function ChatPage(props: ChatPageProps): ReactNode {
  return useInBrowser() ? <Page {...props} /> : <div className="cq cq-frame" />;
}

function Page({
  brand,
  footer,
  actions,
  pickers,
  components,
  children,
  ...provider
}: ChatPageProps): ReactNode {
  const current = useHashSession();
  return (
    <ChatProvider {...provider}>
      {children}
      <Frame
        place={current ?? ""}
        navigation={<Navigation current={current} brand={brand} footer={footer} />}
      >
        {(menu) => (
          <>
            <MissedBar />
            <ErrorBoundary key={current}>
              <Chat
                sessionId={current}
                menu={menu}
                actions={actions}
                pickers={pickers}
                components={components}
              />
            </ErrorBoundary>
          </>
        )}
      </Frame>
    </ChatProvider>
  );
}
