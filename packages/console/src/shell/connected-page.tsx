import { createClient } from "@colloquy/client";
import { DEFAULT_APP, PageContextProvider, type PageContext } from "@colloquy/ui/parts";
import { useMemo, useRef, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { hashOf, parseRoute } from "./route.ts";
import { goTo } from "./use-route.ts";

const ADDRESS: PageContext["address"] = {
  hrefOf: (sessionId) => hashOf({ page: "chat", sessionId }),
  open: (sessionId, options) => goTo({ page: "chat", sessionId }, options),
  shown() {
    const route = parseRoute(window.location.hash);
    return route.page === "chat" ? route.sessionId : undefined;
  },
};

/** Provides the console's connection to the components of @colloquy/ui. */
export function ConnectedPage({
  onKeyWanted,
  children,
}: {
  /** Opens the form for an App key. Later renders must not change it. */
  readonly onKeyWanted: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const { storage, outbox, walletRequests, jumps, requestApp, setConversationApp, remember, ...settings } =
    useConnection();
  const { key, fetch, app } = settings;
  const { name, greeting, images } = settings.page?.branding ?? {};
  const askForKey = useRef(onKeyWanted).current;
  const page = useMemo((): PageContext => {
    // A relative address, because the service may be mounted under a path.
    const baseUrl = new URL(".", window.location.href).href;
    return {
      address: ADDRESS,
      storage,
      outbox,
      walletRequests,
      jumps,
      name,
      greeting,
      images,
      app: app ?? DEFAULT_APP,
      requestApp,
      setConversationApp,
      clientOf: (app) => createClient({ baseUrl, fetch, app, reasoning: true, ...(key !== null && { key }) }),
      remember,
      askForKey,
    };
  }, [
    storage,
    outbox,
    walletRequests,
    jumps,
    name,
    greeting,
    images,
    app,
    requestApp,
    setConversationApp,
    fetch,
    key,
    remember,
    askForKey,
  ]);
  return <PageContextProvider value={page}>{children}</PageContextProvider>;
}
