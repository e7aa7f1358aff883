import type { AppDescriptor } from "@colloquy/client";
import { useColloquy } from "@colloquy/react";
import { useEffect, useState } from "react";
import { usePage } from "./page-context.tsx";
import { openedApps } from "../service/opened-apps.ts";

/**
 * Returns the descriptor of the session's App or, without a session, the selected App; `null` while unknown.
 */
export function useApp(sessionId: string | null): AppDescriptor | null {
  const { client } = useColloquy();
  const { requestApp } = usePage();
  const [app, setApp] = useState<AppDescriptor | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setApp(null);
    openedApps(client, sessionId).then(
      (apps) => {
        if (isCurrent) setApp(apps.find(({ name }) => name === requestApp) ?? null);
      },
      // Ignore the error: the model list reports an unreachable service, and the settings report a bad key.
      () => undefined,
    );
    return () => void (isCurrent = false);
  }, [client, requestApp, sessionId]);
  return app;
}
