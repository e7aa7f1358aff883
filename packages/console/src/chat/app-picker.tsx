import { useRef, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Picker } from "../design/picker.tsx";

const DEFAULT = "default";

/**
 * Chooses the App of a new conversation, among those that the key opens. Not there without a key, which opens the default one alone. The
 * service is asked when somebody is about to choose: its answer opens a session, which every load of the page would leave behind.
 */
export function AppPicker(): ReactNode {
  const { client, app, key, change } = useConnection();
  const [opened, setOpened] = useState<readonly string[]>([]);
  const asked = useRef<string | null>(null);
  const ask = (): void => {
    if (key === null || asked.current === key) return;
    asked.current = key;
    client.listApps().then(
      (apps) => setOpened(apps.map(({ name }) => name)),
      // The settings say what is wrong with a key.
      () => {
        asked.current = null;
      },
    );
  };
  if (key === null && app === null) return null;
  const current = app ?? DEFAULT;
  return (
    <Picker
      label="App"
      value={current}
      choices={[...new Set([current, DEFAULT, ...opened])]}
      onReach={ask}
      onPick={(name) => change({ app: name === DEFAULT ? null : name })}
    />
  );
}
