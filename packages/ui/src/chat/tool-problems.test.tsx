import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { ToolProblems } from "./tool-problems.tsx";

it("lists each failing source with its problem, and renders nothing without problems", () => {
  expect(renderToStaticMarkup(<ToolProblems problems={[]} />)).toBe('<div role="status"></div>');
  const problems = [
    { name: "mcp weather", problem: "Their server cannot be reached at the moment." },
    { name: "openapi pets", problem: "The description of their service cannot be read at the moment." },
  ];
  const shown = renderToStaticMarkup(<ToolProblems problems={problems} />);
  expect(shown).toContain("Some tools are missing.");
  for (const { name, problem } of problems) expect(shown).toContain(`<b>${name}</b>: ${problem}`);
});
