import type { ReactNode } from "react";
import { Tabs } from "../design/tabs.tsx";
import { EventsTab } from "./events-tab.tsx";
import { RecordsTab } from "./records-tab.tsx";
import { RequestsTab } from "./requests-tab.tsx";
import { SnapshotTab } from "./snapshot-tab.tsx";

/** What happens in a session, as a developer wants to see it: what comes, what is, what is kept, and what was asked. */
export function DeveloperPanel({ sessionId }: { readonly sessionId: string }): ReactNode {
  return (
    <Tabs
      // Nothing of one session is left when another one is shown.
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
