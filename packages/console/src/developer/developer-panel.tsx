import type { ReactNode } from "react";
import { Tabs } from "../design/tabs.tsx";
import { EventsTab } from "./events-tab.tsx";
import { RecordsTab } from "./records-tab.tsx";
import { RequestsTab } from "./requests-tab.tsx";
import { SnapshotTab } from "./snapshot-tab.tsx";

/** Shows the events, snapshot, stored messages and requests of a session. */
export function DeveloperPanel({ sessionId }: { readonly sessionId: string }): ReactNode {
  return (
    <Tabs
      // Remount when another session is shown.
      key={sessionId}
      label="Developer views"
      tabs={[
        { label: "Events", content: () => <EventsTab sessionId={sessionId} /> },
        { label: "Snapshot", content: () => <SnapshotTab sessionId={sessionId} /> },
        { label: "Records", content: () => <RecordsTab sessionId={sessionId} /> },
        { label: "Requests", content: () => <RequestsTab /> },
      ]}
    />
  );
}
