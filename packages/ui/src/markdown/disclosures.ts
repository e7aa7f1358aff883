// Renders `<details>`, the only HTML element that answers may use. Its content is Markdown.

import type { Paragraph, Root, RootContent } from "mdast";
import type { Transformer } from "unified";

type Parent = { children: RootContent[] };

const BEGIN = /^<details(?<open>\s+open)?>\s*(?:<summary>(?<summary>[\s\S]*?)<\/summary>)?(?<rest>[\s\S]*)$/i;
const END = /<\/details>\s*$/i;

/** Remark plugin. */
export function remarkDisclosures(): Transformer {
  return (tree) => disclose(tree as Root);
}

function disclose(parent: Parent): void {
  const children: RootContent[] = [];
  for (let at = 0; at < parent.children.length; at += 1) {
    const node = parent.children[at] as RootContent;
    if ("children" in node) disclose(node);
    const begin = node.type === "html" ? BEGIN.exec(node.value) : null;
    if (begin === null || node.type !== "html") {
      children.push(node);
      continue;
    }
    const { summary = "Details", rest = "", open } = begin.groups ?? {};
    const text = paragraph(rest.replace(END, "").trim());
    let content: RootContent[] = text === null ? [] : [text];
    if (!END.test(node.value)) {
      // While the answer streams, the end tag may be missing.
      const end = parent.children.findIndex(
        (one, index) => index > at && one.type === "html" && END.test(one.value),
      );
      const inside = parent.children.slice(at + 1, end === -1 ? undefined : end);
      const box: Parent = { children: inside };
      disclose(box);
      content = [...content, ...box.children];
      at += inside.length + (end === -1 ? 0 : 1);
    }
    const title: RootContent = { ...(paragraph(summary.trim()) ?? EMPTY), data: { hName: "summary" } };
    const properties = open === undefined ? {} : { open: true };
    const data = { hName: "details", hProperties: properties };
    children.push({ type: "blockquote", data, children: [title, ...content] as Paragraph[] });
  }
  parent.children = children;
}

const EMPTY: Paragraph = { type: "paragraph", children: [] };

function paragraph(text: string): Paragraph | null {
  return text === "" ? null : { type: "paragraph", children: [{ type: "text", value: text }] };
}
