import { isValidElement } from "react";
import { expect, it } from "vitest";
import { ErrorBoundary } from "./error-boundary.tsx";

/** Returns the content that replaces a broken part. */
function shownAfter(props: ConstructorParameters<typeof ErrorBoundary>[0]): unknown {
  const boundary = new ErrorBoundary(props);
  Object.assign(boundary, { state: ErrorBoundary.getDerivedStateFromError(new Error("too deep")) });
  return boundary.render();
}

it("shows the fallback of a broken part, or an explanation", () => {
  expect(new ErrorBoundary({ children: "whole", fallback: "as written" }).render()).toBe("whole");
  expect(shownAfter({ children: "whole", fallback: "as written" })).toBe("as written");
  expect(isValidElement(shownAfter({ children: "whole" }))).toBe(true);
});
