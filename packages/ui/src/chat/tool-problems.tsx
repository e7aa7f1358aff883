import type { ToolProblem } from "@colloquy/client";
import type { ReactNode } from "react";
import { classes } from "../design/classes.ts";
import { TriangleAlert } from "../design/icons.tsx";

/** Warns that tools are unavailable and that the assistant answers without them. */
export function ToolProblems({ problems }: { readonly problems: readonly ToolProblem[] }): ReactNode {
  // Screen readers announce changes only of a live region that is already in the page.
  return (
    <div role="status">
      {problems.length > 0 && (
        <div className={classes("cq-message-notice", "cq-message-warning")}>
          <TriangleAlert size={16} />
          <div>
            <p>Some tools are missing. The assistant answers without them.</p>
            <ul className="cq-message-problems">
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
