import type { Message, Reasoning } from "@colloquy/client";
import { useReasoning } from "@colloquy/react";
import type { ReactNode } from "react";
import { ChevronRight } from "../design/icons.tsx";
import { JsonText } from "../design/json-text.tsx";
import { useSessionId } from "./session-id.tsx";

/** Data and sources of an answer, each initially collapsed. */
export function AnswerDetails({ message }: { readonly message: Message }): ReactNode {
  const { data, sources } = message;
  if (data === undefined && sources === undefined) return null;
  return (
    <div className="cq-answer-details">
      {data !== undefined && (
        <Disclosure summary="Data">
          <JsonText label="Data" text={JSON.stringify(data)} />
        </Disclosure>
      )}
      {sources !== undefined && (
        <Disclosure summary={sources.length === 1 ? "1 source" : `${sources.length} sources`}>
          <ol className="cq-answer-details-sources">
            {sources.map(({ url, title }) => (
              <li key={url}>
                <a href={url} target="_blank" rel="noreferrer noopener" dir="auto">
                  {title ?? url}
                </a>
                {title !== undefined && <span className="cq-answer-details-host">{new URL(url).host}</span>}
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
    </div>
  );
}

/**
 * Reasoning of an answer. Live reasoning is expanded until the answer has text. Stored reasoning is collapsed, and
 * loaded when it is opened.
 */
export function ReasoningDetails({
  message,
  live,
}: {
  readonly message: Pick<Message, "id" | "content" | "has_reasoning">;
  /** Live reasoning of the answer in progress; `null` if there is none. */
  readonly live: readonly Reasoning[] | null;
}): ReactNode {
  const { id, content, has_reasoning: hasReasoning } = message;
  if (live === null && hasReasoning !== true) return null;
  return (
    <div className="cq-answer-details">
      {live === null ? (
        <StoredReasoning key={id} messageId={id} />
      ) : (
        <Disclosure summary={content === "" ? "Thinking…" : "Reasoning"} isOpen={content === ""}>
          <Steps steps={newest(live)} />
        </Disclosure>
      )}
    </div>
  );
}

/** Maximum characters of live reasoning on the page, to bound the layout cost of each update. */
const NEWEST = 4_000;

/** Returns the last `NEWEST` characters of the reasoning. */
function newest(steps: readonly Reasoning[]): readonly Reasoning[] {
  let after = steps.reduce((sum, { text }) => sum + text.length, 0);
  return steps.flatMap(({ step, text }) => {
    after -= text.length;
    const room = NEWEST - after;
    if (room <= 0) return [];
    return [{ step, text: text.length > room ? `…${text.slice(-room)}` : text }];
  });
}

function StoredReasoning({ messageId }: { readonly messageId: string }): ReactNode {
  const { reasoning, error, load } = useReasoning(useSessionId(), messageId);
  return (
    <Disclosure summary="Reasoning" onOpen={() => void load()}>
      <div aria-live="polite">
        {reasoning !== null && <Steps steps={reasoning} />}
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

function Steps({ steps }: { readonly steps: readonly Reasoning[] }): ReactNode {
  return (
    <div className="cq-answer-details-reasoning">
      {steps.map(({ step, text }) => (
        <p key={step} dir="auto">
          {text}
        </p>
      ))}
    </div>
  );
}

function Disclosure({
  summary,
  isOpen = false,
  onOpen = () => undefined,
  children,
}: {
  readonly summary: string;
  readonly isOpen?: boolean;
  readonly onOpen?: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <details
      className="cq-answer-details-details"
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && onOpen()}
    >
      <summary className="cq-answer-details-summary">
        <ChevronRight className="cq-answer-details-arrow" size={14} />
        {summary}
      </summary>
      <div className="cq-answer-details-content">{children}</div>
    </details>
  );
}
