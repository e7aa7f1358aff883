import { createClient } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import {
  DEFAULT_APP,
  Button,
  Dialog,
  DialogButtons,
  DialogFailure,
  Field,
  openedApps,
} from "@colloquy/ui/parts";
import { hashOf } from "../shell/route.ts";
import { ThemeChoice } from "./theme-choice.tsx";
import styles from "./settings.module.css";

/** Settings: the theme and, under Advanced, the App and its key. */
export function SettingsDialog({
  isKeyWanted,
  onClose,
}: {
  /** True to open the advanced settings, which include the key. */
  readonly isKeyWanted: boolean;
  readonly onClose: () => void;
}): ReactNode {
  const { app, key, page, fetch, change } = useConnection();
  const [isAdvanced, setAdvanced] = useState(isKeyWanted || app !== null || key !== null);
  const [appName, setAppName] = useState(app ?? "");
  const [keyText, setKeyText] = useState(key ?? "");
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    const entered = { app: orNull(appName), key: orNull(keyText) };
    try {
      change({ ...entered, app: await openedApp(entered, fetch) });
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "The service could not be reached. Try again.");
      setBusy(false);
    }
  };
  return (
    <Dialog title="Settings" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <ThemeChoice />
        <details
          className={styles["advanced"]}
          open={isAdvanced}
          onToggle={(event) => setAdvanced(event.currentTarget.open)}
        >
          <summary>Advanced</summary>
          <p className={styles["hint"]}>
            An App has models, tools and instructions of its own. The default App needs no key. Both are
            forgotten when this tab is closed.
          </p>
          <Field
            label="App"
            placeholder="default"
            value={appName}
            onChange={(event) => setAppName(event.target.value)}
          />
          <Field
            label="App key"
            type="password"
            value={keyText}
            hint="With a key and no name, the App that the key opens is used."
            onChange={(event) => setKeyText(event.target.value)}
          />
          <a
            className={styles["reference"]}
            href={hashOf({ page: "operate", view: "overview" })}
            onClick={onClose}
          >
            Operate this service
          </a>
        </details>
        <DialogFailure sentence={failure} />
        <p className={styles["references"]}>
          {page?.guide === true && (
            <a className={styles["reference"]} href="guide/" target="_blank" rel="noreferrer">
              Guide
            </a>
          )}
          <a className={styles["reference"]} href="docs" target="_blank" rel="noreferrer">
            API reference
          </a>
        </p>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={isBusy}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/**
 * Returns the App to use with the entered values, `null` for the default one. Checks with the service, so
 * that an invalid key, or one that does not open the App, is reported here and not with the next message.
 */
async function openedApp(
  { app, key }: { readonly app: string | null; readonly key: string | null },
  fetch: typeof globalThis.fetch,
): Promise<string | null> {
  const baseUrl = new URL(".", window.location.href).href;
  const client = createClient({ baseUrl, fetch, ...(key !== null && { key }) });
  const names = (await openedApps(client)).map(({ name }) => name);
  const others = names.filter((name) => name !== DEFAULT_APP);
  if (app === null) return others[0] ?? null;
  if (!names.includes(app)) {
    throw new Error(
      key === null
        ? `There is no App “${app}”, or it needs a key.`
        : `This key does not open an App “${app}”. It opens: ${others.join(", ") || "none"}.`,
    );
  }
  return app === DEFAULT_APP ? null : app;
}

function orNull(text: string): string | null {
  return text.trim() === "" ? null : text.trim();
}
