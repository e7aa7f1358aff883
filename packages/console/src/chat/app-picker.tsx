import { useEffect, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Picker } from "../design/picker.tsx";

const DEFAULT = "default";

/** Chooses the App of a new conversation, among those that the key opens. Not there while there is only one. */
export function AppPicker(): ReactNode {
  const { client, app, change } = useConnection();
  const [apps, setApps] = useState<readonly string[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    client.listApps({ signal: leaving.signal }).then(
      (offered) => setApps(offered.map(({ name }) => name)),
      // The settings say what is wrong with a key.
      () => undefined,
    );
    return () => leaving.abort();
  }, [client]);
  const current = app ?? DEFAULT;
  const choices = apps.includes(current) ? apps : [current, ...apps];
  if (choices.length < 2) return null;
  return (
    <Picker
      label="App"
      value={current}
      choices={choices}
      onPick={(name) => change({ app: name === DEFAULT ? null : name })}
    />
  );
}
