import type { ReactNode } from "react";
import { usePage } from "./page-context.tsx";

export interface WelcomeProps {
  /** The current model; `null` while it is unknown. */
  readonly model: string | null;
}

/** Greeting of a conversation without messages. */
export function Welcome({ model }: WelcomeProps): ReactNode {
  const { greeting = "What is on your mind?" } = usePage();
  const isDemo = model?.startsWith("demo/") ?? false;
  return (
    <section className="cq-welcome">
      <h2 dir="auto">{greeting}</h2>
      {isDemo && (
        <p>
          You talk to the demo model. It needs no key and no network, and knows a few tricks; try one, or
          write a message.
        </p>
      )}
    </section>
  );
}
