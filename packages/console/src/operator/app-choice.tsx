import type { AdminClient } from "@colloquy/client/admin";
import type { ReactNode } from "react";
import { useQuery } from "./administration.tsx";
import { Choice } from "./view-parts.tsx";
import styles from "./operator.module.css";

const askApps = async (client: AdminClient, signal: AbortSignal): Promise<readonly string[]> =>
  (await client.listApps({ signal })).map(({ name }) => name);

/** Select field for an App; "" means all Apps. */
export function AppChoice({
  app,
  onChange,
}: {
  readonly app: string;
  readonly onChange: (app: string) => void;
}): ReactNode {
  const { answer: apps, problem } = useQuery(askApps);
  return (
    <>
      <Choice
        label="App"
        value={app}
        options={[["", "All"], ...(apps ?? []).map((app) => [app, app] as const)]}
        onChange={onChange}
      />
      {problem !== null && (
        <p role="alert" className={styles["wrong"]}>
          The Apps cannot be listed. {problem}
        </p>
      )}
    </>
  );
}
