// The assistant's text as Markdown. Produces no HTML (markup is shown as written) and loads nothing.

import { useMessagePartText } from "@assistant-ui/react";
import { MarkdownTextPrimitive, type CodeHeaderProps } from "@assistant-ui/react-markdown";
import type { ComponentPropsWithoutRef, ReactNode } from "react";
import remarkGfm from "remark-gfm";
import { CopyButton } from "../design/copy-button.tsx";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { followedUrl, hostOf } from "./link-policy.ts";
import { isCostly } from "./markdown-cost.ts";
import styles from "./markdown-text.module.css";

export function MarkdownText(): ReactNode {
  const { text, status } = useMessagePartText();
  if (text === "") return status.type === "running" ? <Thinking /> : null;
  if (isCostly(text)) return <AsWritten text={text} />;
  return (
    <ErrorBoundary fallback={<AsWritten text={text} />}>
      <MarkdownTextPrimitive
        className={styles["text"]}
        containerProps={{ dir: "auto" }}
        remarkPlugins={PLUGINS}
        urlTransform={followedUrl}
        components={COMPONENTS}
        smooth={false}
        defer
      />
    </ErrorBoundary>
  );
}

/** Text that cannot be parsed as Markdown. */
function AsWritten({ text }: { readonly text: string }): ReactNode {
  return (
    <p className={styles["as-written"]} dir="auto">
      {text}
    </p>
  );
}

const PLUGINS = [remarkGfm];
/** Lowers headings of answers below the page's own heading. */
const HEADINGS = { h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6" } as const;
const COMPONENTS = { ...HEADINGS, a: Link, img: Picture, table: Table, pre: Preformatted, CodeHeader };

function Thinking(): ReactNode {
  return (
    <p className={styles["thinking"]}>
      <span className="visually-hidden">Thinking…</span>
      <span aria-hidden />
      <span aria-hidden />
      <span aria-hidden />
    </p>
  );
}

function Link({ href, title, children }: ComponentPropsWithoutRef<"a">): ReactNode {
  if (href === undefined || href === "") return <span>{children}</span>;
  return (
    <a href={href} title={title} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** Shows only the name of an image: loading it would reveal the reader to its host. */
function Picture({ src, alt = "" }: ComponentPropsWithoutRef<"img">): ReactNode {
  const described = alt === "" ? "no description" : alt;
  const host = src === undefined ? null : hostOf(src);
  if (host === null) return <span className={styles["picture"]}>Picture: {described}</span>;
  return (
    <a className={styles["picture"]} href={src} target="_blank" rel="noopener noreferrer">
      Picture at {host}: {described}
    </a>
  );
}

/** Makes wide tables scroll separately, also by keyboard. */
function Table({ children }: ComponentPropsWithoutRef<"table">): ReactNode {
  return (
    <div className={styles["scrolled"]} role="region" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

function Preformatted({ children }: ComponentPropsWithoutRef<"pre">): ReactNode {
  return <pre tabIndex={0}>{children}</pre>;
}

function CodeHeader({ language, code }: CodeHeaderProps): ReactNode {
  return (
    <div className={styles["code-header"]}>
      <span>{language === undefined || language === "unknown" ? "Code" : language}</span>
      <CopyButton label="Copy code" text={code} />
    </div>
  );
}
