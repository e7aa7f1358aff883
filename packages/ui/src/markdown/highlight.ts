// Syntax highlighting, imported with the first code block that names a language.

import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight(common);

/** Returns the code as elements with Highlight.js classes; `null` if the language is unknown. */
export function highlighted(code: string, language: string): ReactNode {
  if (!lowlight.registered(language)) return null;
  return toJsxRuntime(lowlight.highlight(language, code), { Fragment, jsx, jsxs });
}
