import { useDeferredValue, useEffect, useState, type ComponentPropsWithoutRef, type ReactNode } from "react";
import type { ExtraProps } from "react-markdown";
import { IconButton } from "../design/button.tsx";
import { CopyButton } from "../design/copy-button.tsx";
import { WrapText } from "../design/icons.tsx";
import { Formula } from "./formula.tsx";
import type { highlighted } from "./highlight.ts";

/** Maximum characters to highlight. While code streams, each word would highlight all of it again. */
const LONGEST = 20_000;

/** Code with its language or file name, and buttons to wrap lines and to copy. */
export function CodeBlock({ node }: ComponentPropsWithoutRef<"pre"> & ExtraProps): ReactNode {
  const { language, file, code } = codeOf(node);
  const [isWrapped, setWrapped] = useState(false);
  if (language === "math") return <Formula tex={code} isDisplay />;
  return (
    <>
      <div className="cq-markdown-code-header">
        <span>{file ?? language ?? "Code"}</span>
        <IconButton
          size="small"
          label="Wrap lines"
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        >
          <WrapText size={15} />
        </IconButton>
        <CopyButton label="Copy code" text={code} />
      </div>
      <pre tabIndex={0} dir="ltr" className={isWrapped ? "cq-markdown-wrapped" : undefined}>
        <code>
          {language === null || code.length > LONGEST ? code : <Highlighted {...{ code, language }} />}
        </code>
      </pre>
    </>
  );
}

type Highlight = typeof highlighted;

/** Once loaded, code is never shown in one colour again, not even for a moment. */
let loaded: { readonly run: Highlight } | null = null;

function Highlighted({ code, language }: { readonly code: string; readonly language: string }): ReactNode {
  const [highlight, setHighlight] = useState(loaded);
  const shown = useDeferredValue(code);
  useEffect(() => {
    if (highlight !== null) return;
    // If the import fails, the code stays in one colour.
    import("./highlight.ts").then(
      ({ highlighted: run }) => setHighlight((loaded = { run })),
      () => undefined,
    );
  }, [highlight]);
  return highlight?.run(shown, language.toLowerCase()) ?? code;
}

interface Code {
  readonly language: string | null;
  /** File name in the info string, as in "ts src/a.ts" or `ts title="src/a.ts"`. */
  readonly file: string | null;
  readonly code: string;
}

function codeOf(pre: ExtraProps["node"]): Code {
  const [element] = pre?.children ?? [];
  if (element?.type !== "element") return { language: null, file: null, code: "" };
  const code = element.children.map((child) => (child.type === "text" ? child.value : "")).join("");
  const classes = element.properties["className"];
  const [, language = null] = /\blanguage-(\S+)/.exec(Array.isArray(classes) ? classes.join(" ") : "") ?? [];
  const { meta } = (element.data ?? {}) as { readonly meta?: string | null };
  const [, titled, plain] =
    /^(?:(?:title|file(?:name)?)="?([^"\s]+)"?|([\w./-]+\.\w+)$)/.exec(meta ?? "") ?? [];
  return { language, file: titled ?? plain ?? null, code: code.replace(/\n$/, "") };
}
