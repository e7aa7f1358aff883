import { isValidElement } from "react";
import { expect, it } from "vitest";
import { ErrorBoundary } from "./error-boundary.tsx";

/** What is shown in the place of something that broke. */
function shownAfter(props: ConstructorParameters<typeof ErrorBoundary>[0]): unknown {
  const boundary = new ErrorBoundary(props);
  Object.assign(boundary, { state: ErrorBoundary.getDerivedStateFromError(new Error("too deep")) });
  return boundary.render();
}

it("what broke is replaced by what was given for it, and else by words about it", () => {
  expect(new ErrorBoundary({ children: "whole", fallback: "as written" }).render()).toBe("whole");
  expect(shownAfter({ children: "whole", fallback: "as written" })).toBe("as written");
  expect(isValidElement(shownAfter({ children: "whole" }))).toBe(true);
});
