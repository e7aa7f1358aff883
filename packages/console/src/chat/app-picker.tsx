import { useRef, useState, type ReactNode } from "react";
import { DEFAULT_APP, useConnection } from "../connection/connection.tsx";
import { openedApps } from "../connection/opened-apps.ts";
import { Picker } from "../design/picker.tsx";

/** The Apps that a key opens. */
interface Opened {
  readonly key: string | null;
  readonly names: readonly string[];
}

/**
 * Chooses the App of a new conversation, among those that the key opens. Not there without a key, which opens the default one alone. The
 * service is asked when somebody is about to choose, because most who load the page do not.
 */
export function AppPicker(): ReactNode {
  const { client, app, key, change } = useConnection();
  const [opened, setOpened] = useState<Opened>({ key: null, names: [] });
  const asked = useRef<string | null>(null);
  const ask = (): void => {
    if (key === null || asked.current === key) return;
    asked.current = key;
    openedApps(client).then(
      (names) => setOpened({ key, names }),
      // The settings say what is wrong with a key.
      () => {
        asked.current = null;
      },
    );
  };
  if (key === null && app === null) return null;
  const current = app ?? DEFAULT_APP;
  return (
    <Picker
      label="App"
      value={current}
      choices={[...new Set([current, DEFAULT_APP, ...(opened.key === key ? opened.names : [])])]}
      onReach={ask}
      onPick={(name) => change({ app: name === DEFAULT_APP ? null : name })}
    />
  );
}
