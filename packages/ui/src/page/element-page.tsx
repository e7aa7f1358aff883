import { createClient } from "@colloquy/client";
import { useMemo, type ReactNode } from "react";
import { ChatPage } from "./chat-page.tsx";
import { SingleChat } from "./single-chat.tsx";

/**
 * Content of `<colloquy-chat>`: a single conversation, or a chat page with all conversations of this browser or user.
 */
export function ElementPage({
  url,
  app,
  session,
  signedIn,
}: {
  readonly url: string;
  readonly app: string | null;
  readonly session: string | null;
  readonly signedIn: boolean;
}): ReactNode {
  const client = useMemo(
    () => createClient({ baseUrl: url, reasoning: true, ...(app !== null && { app }) }),
    [url, app],
  );
  const common = { client, ...(app !== null && { app }) };
  return session === null ? (
    <ChatPage {...common} signedIn={signedIn} />
  ) : (
    <SingleChat {...common} sessionId={session} />
  );
}
