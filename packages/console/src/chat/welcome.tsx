import type { ReactNode } from "react";
import styles from "./welcome.module.css";

/** One prompt per ability of the demo model. */
const EXAMPLES = ["What is 12 * 7?", "What time is it in Tokyo?", "Count to 50", "Order 2 cups of tea"];

/**
 * Greeting of a conversation without messages. `model` is the current one, `null` while unknown; `onAsk`
 * sends an example.
 */
export function Welcome({
  model,
  onAsk,
}: {
  readonly model: string | null;
  readonly onAsk: (text: string) => void;
}): ReactNode {
  const isDemo = model?.startsWith("demo/") ?? false;
  return (
    <section className={styles["welcome"]}>
      <h2>What is on your mind?</h2>
      {isDemo ? (
        <>
          <p>
            You talk to the demo model. It needs no key and no network, and knows a few tricks; try one, or
            write a message.
          </p>
          <ul className={styles["examples"]}>
            {EXAMPLES.map((text) => (
              <li key={text}>
                <button type="button" onClick={() => onAsk(text)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>
          Write a message to begin. It is stored as soon as it is sent, and the answer continues if you leave.
        </p>
      )}
    </section>
  );
}
