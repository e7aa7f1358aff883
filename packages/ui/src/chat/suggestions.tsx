import { use, type ReactNode } from "react";
import { SessionIdContext } from "./session-id.tsx";
import { useApp } from "./use-app.ts";

/** The App's suggested first messages. `onAsk` sends one. */
export function Suggestions({ onAsk }: { readonly onAsk: (text: string) => void }): ReactNode {
  const { suggestions = [] } = useApp(use(SessionIdContext)) ?? {};
  return (
    <ul className="cq-suggestions">
      {suggestions.map((text) => (
        <li key={text}>
          <button type="button" dir="auto" onClick={() => onAsk(text)}>
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
