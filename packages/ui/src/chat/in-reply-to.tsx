import type { ReactNode } from "react";

/** Maximum characters of the question to render. CSS truncates it to one line. */
const LONGEST = 200;

/** Shows the question above an answer that does not directly follow it. */
export function InReplyTo({ question }: { readonly question: string }): ReactNode {
  const cut =
    question.length > LONGEST
      ? `${Array.from(question.slice(0, 2 * LONGEST))
          .slice(0, LONGEST)
          .join("")}…`
      : question;
  return (
    <p className="cq-message-reply">
      In reply to: <q dir="auto">{cut}</q>
    </p>
  );
}
