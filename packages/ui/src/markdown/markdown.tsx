// Renders Markdown as React elements. Never interprets HTML (markup is shown as written), and loads no remote
// content but images that the page allows.

import type { Element, Root } from "hast";
import {
  memo,
  useDeferredValue,
  useId,
  useMemo,
  useState,
  type ComponentPropsWithoutRef,
  type ReactNode,
} from "react";
import ReactMarkdown, { type Components, type ExtraProps, type UrlTransform } from "react-markdown";
import { useAllowedImages } from "../chat/page-context.tsx";
import { ErrorBoundary } from "../design/error-boundary.tsx";
import { CodeBlock } from "./code-block.tsx";
import { withNestedFences } from "./fenced-code.ts";
import { Formula } from "./formula.tsx";
import { imageUrl } from "./image-url.ts";
import { followedUrl, hostOf } from "./link-policy.ts";
import { isCostly } from "./markdown-cost.ts";
import { formulaOf, markFormulas } from "./mathematics.ts";
import { PLUGINS } from "./plugins.ts";

/** Renders untrusted text as Markdown: CommonMark and GFM, adapted to chat. */
export function Markdown({ text }: { readonly text: string }): ReactNode {
  // Deferred, so that parsing a long streaming text does not delay key presses.
  const shown = useDeferredValue(text);
  const marked = useMemo(() => markFormulas(withNestedFences(shown)), [shown]);
  if (isCostly(marked)) return <AsWritten text={shown} />;
  return (
    <ErrorBoundary fallback={<AsWritten text={shown} />}>
      <Rendered text={marked} />
    </ErrorBoundary>
  );
}

const Rendered = memo(function Rendered({ text }: { readonly text: string }): ReactNode {
  // Footnote ids must be unique across messages.
  const clobberPrefix = `${useId()}-`;
  return (
    <div className="cq cq-markdown" dir="auto">
      <ReactMarkdown
        remarkPlugins={PLUGINS}
        remarkRehypeOptions={{ clobberPrefix }}
        rehypePlugins={[rehypeHeadings, [rehypeFootnoteLabel, { prefix: clobberPrefix }]]}
        urlTransform={safeUrl}
        components={COMPONENTS}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** Rehype plugin that adds the message's prefix to the id of the footnotes heading, and to references to it. */
function rehypeFootnoteLabel({ prefix }: { readonly prefix: string }): (tree: Root) => void {
  const rename = (parent: Readonly<Root | Element>): void => {
    for (const child of parent.children) {
      if (child.type !== "element") continue;
      for (const name of ["id", "ariaDescribedBy"])
        if (String(child.properties[name]) === LABEL) child.properties[name] = prefix + LABEL;
      rename(child);
    }
  };
  return rename;
}

/** Id of the heading in remark-rehype. */
const LABEL = "footnote-label";

/** Shows text unformatted, because parsing it would block the page. */
function AsWritten({ text }: { readonly text: string }): ReactNode {
  return (
    <p className="cq-markdown-as-written" dir="auto">
      {text}
    </p>
  );
}

/**
 * Rehype plugin that moves headings below the page's own heading and closes gaps between levels: screen readers list
 * headings as an outline, and many answers start with a second level.
 */
function rehypeHeadings(): (tree: Root) => void {
  return (tree) => {
    let outer = 1;
    const demote = (parent: Readonly<Root | Element>): void => {
      for (const child of parent.children) {
        if (child.type !== "element") continue;
        const level = /^h([1-6])$/.exec(child.tagName)?.[1];
        if (level !== undefined) {
          outer = Math.min(Number(level) + 1, outer + 1, 6);
          child.tagName = `h${outer}`;
        }
        demote(child);
      }
    };
    demote(tree);
  };
}

const COMPONENTS: Components = {
  a: Link,
  img: Picture,
  table: Table,
  pre: CodeBlock,
  code: InlineCode,
  input: Task,
};

/** Footnote links stay within the message; all other links must be external. */
const safeUrl: UrlTransform = (url, _name, node) => (isFootnote(node) ? url : followedUrl(url));

function isFootnote({ properties }: Readonly<Element>): boolean {
  return properties["dataFootnoteRef"] !== undefined || properties["dataFootnoteBackref"] !== undefined;
}

function Link({
  node,
  href,
  title,
  children,
  ...rest
}: ComponentPropsWithoutRef<"a"> & ExtraProps): ReactNode {
  if (node !== undefined && isFootnote(node))
    return (
      <a
        {...rest}
        href={href}
        onClick={(event) => {
          // The URL's hash identifies the conversation, so it must not change.
          event.preventDefault();
          const root = event.currentTarget.getRootNode() as Document | ShadowRoot;
          const target = root.getElementById(decodeURIComponent(href?.slice(1) ?? ""));
          target?.setAttribute("tabindex", "-1");
          target?.focus();
        }}
      >
        {children}
      </a>
    );
  if (href === undefined || href === "") return <span>{children}</span>;
  return (
    <a href={href} title={title} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** Inline code, or a formula encoded as inline code (mathematics.ts). */
function InlineCode({ children }: ComponentPropsWithoutRef<"code">): ReactNode {
  const formula = typeof children === "string" ? formulaOf(children) : null;
  return formula === null ? <code dir="auto">{children}</code> : <Formula {...formula} />;
}

/** The checkbox of a task, with a label for screen readers, which would announce just "disabled checkbox". */
function Task({ checked }: ComponentPropsWithoutRef<"input">): ReactNode {
  return (
    <input
      type="checkbox"
      disabled
      checked={checked}
      readOnly
      aria-label={checked === true ? "Done" : "To do"}
    />
  );
}

/** Shows an image that the page allows and that loads; of all others only a link with the name. */
function Picture({ src, alt = "" }: ComponentPropsWithoutRef<"img">): ReactNode {
  const allowed = useAllowedImages();
  const [isFailed, setFailed] = useState(false);
  const from = typeof src === "string" && src !== "" && allowed !== null ? imageUrl(src, allowed) : null;
  if (from !== null && !isFailed)
    return (
      <img
        className="cq-markdown-image"
        src={from}
        alt={alt}
        loading="lazy"
        referrerPolicy="no-referrer"
        onError={() => setFailed(true)}
      />
    );
  const described = alt === "" ? "no description" : alt;
  const host = typeof src === "string" ? hostOf(src) : null;
  if (host === null) return <span className="cq-markdown-picture">Picture: {described}</span>;
  return (
    <a className="cq-markdown-picture" href={src} target="_blank" rel="noopener noreferrer">
      Picture at {host}: {described}
    </a>
  );
}

/** Lets a wide table scroll by itself, also with the keyboard. */
function Table({ children }: ComponentPropsWithoutRef<"table">): ReactNode {
  return (
    <div className="cq-markdown-scrolled" role="group" aria-label="Table" tabIndex={0} dir="auto">
      <table>{children}</table>
    </div>
  );
}
