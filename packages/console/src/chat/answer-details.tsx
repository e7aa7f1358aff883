import { useAuiState } from "@assistant-ui/react";
import type { Source } from "@colloquy/client";
import { useReasoning } from "@colloquy/react";
import type { ReactNode } from "react";
import { ChevronRight } from "../design/icons.tsx";
import { JsonText } from "../design/json-text.tsx";
import { useSessionId } from "./session-id.tsx";
import styles from "./answer-details.module.css";

/** Data, reasoning and sources of the surrounding answer, each initially collapsed. */
export function AnswerDetails(): ReactNode {
  const data = useAuiState(({ message }) => message.metadata.custom["data"]);
  const sources = useAuiState(
    ({ message }) => message.metadata.custom["sources"] as readonly Source[] | undefined,
  );
  const hasReasoning = useAuiState(({ message }) => message.metadata.custom["hasReasoning"]);
  const id = useAuiState(({ message }) => message.id);
  if (data === undefined && sources === undefined && hasReasoning !== true) return null;
  return (
    <div className={styles["list"]}>
      {data !== undefined && (
        <Disclosure summary="Data">
          <JsonText label="Data" text={JSON.stringify(data)} />
        </Disclosure>
      )}
      {hasReasoning === true && <ReasoningDetails key={id} messageId={id} />}
      {sources !== undefined && (
        <Disclosure summary={sources.length === 1 ? "1 source" : `${sources.length} sources`}>
          <ol className={styles["sources"]}>
            {sources.map(({ url, title }) => (
              <li key={url}>
                <a href={url} target="_blank" rel="noreferrer noopener" dir="auto">
                  {title ?? url}
                </a>
                {title !== undefined && <span className={styles["host"]}>{new URL(url).host}</span>}
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
    </div>
  );
}

/** Loads the reasoning when it is opened. */
function ReasoningDetails({ messageId }: { readonly messageId: string }): ReactNode {
  const { reasoning, error, load } = useReasoning(useSessionId(), messageId);
  return (
    <Disclosure summary="Reasoning" onOpen={() => void load()}>
      <div className={styles["reasoning"]} aria-live="polite">
        {reasoning?.map(({ step, text }) => (
          <p key={step} dir="auto">
            {text}
          </p>
        ))}
        {reasoning === null && (
          <p>
            {error === null
              ? "Loading…"
              : "The reasoning could not be loaded. Close and open it to try again."}
          </p>
        )}
      </div>
    </Disclosure>
  );
}

function Disclosure({
  summary,
  onOpen = () => undefined,
  children,
}: {
  readonly summary: string;
  readonly onOpen?: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <details className={styles["details"]} onToggle={({ currentTarget }) => currentTarget.open && onOpen()}>
      <summary className={styles["summary"]}>
        <ChevronRight className={styles["arrow"]} size={14} />
        {summary}
      </summary>
      <div className={styles["content"]}>{children}</div>
    </details>
  );
}
