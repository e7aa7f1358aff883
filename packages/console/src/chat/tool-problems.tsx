import type { ToolProblem } from "@colloquy/client";
import { useEffect, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { openedApps } from "../connection/opened-apps.ts";
import { classes } from "../design/classes.ts";
import { TriangleAlert } from "../design/icons.tsx";
import styles from "./message.module.css";

/** Shows unusable tool sources of the selected App. Renders nothing if all work or their state is unknown. */
export function AppToolProblems(): ReactNode {
  const { client, requestApp } = useConnection();
  const [problems, setProblems] = useState<readonly ToolProblem[]>([]);
  useEffect(() => {
    let isCurrent = true;
    setProblems([]);
    openedApps(client).then(
      (apps) => {
        if (isCurrent) setProblems(apps.find(({ name }) => name === requestApp)?.tool_problems ?? []);
      },
      // Ignore the error: the model list reports an unreachable service, and the settings report a bad key.
      () => undefined,
    );
    return () => void (isCurrent = false);
  }, [client, requestApp]);
  return <ToolProblems problems={problems} />;
}

/** Says which tools are missing, and that the assistant answers without them. */
export function ToolProblems({ problems }: { readonly problems: readonly ToolProblem[] }): ReactNode {
  // The status stays in the page, so that screen readers announce what appears in it.
  return (
    <div role="status">
      {problems.length > 0 && (
        <div className={classes(styles["notice"], styles["warning"])}>
          <TriangleAlert size={16} />
          <div>
            <p>Some tools are missing. The assistant answers without them.</p>
            <ul className={styles["problems"]}>
              {problems.map(({ name, problem }) => (
                <li key={name} dir="auto">
                  <b>{name}</b>: {problem}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
    </div>
  );
}
