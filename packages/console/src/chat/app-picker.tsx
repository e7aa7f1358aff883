import { useRef, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { DEFAULT_APP, Picker, openedApps } from "@colloquy/ui/parts";

/** The Apps that the key opens. */
interface Opened {
  readonly key: string | null;
  readonly names: readonly string[];
}

/**
 * Selects the App of a new conversation among those that the key opens. Hidden without a key, which opens
 * only the default App. Loads the list on first focus, because most visitors do not need it.
 */
export function AppPicker(): ReactNode {
  const { client, app, key, change } = useConnection();
  const [opened, setOpened] = useState<Opened>({ key: null, names: [] });
  const asked = useRef<string | null>(null);
  const ask = (): void => {
    if (key === null || asked.current === key) return;
    asked.current = key;
    openedApps(client).then(
      (apps) => setOpened({ key, names: apps.map(({ name }) => name) }),
      // The settings report problems with a key.
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
