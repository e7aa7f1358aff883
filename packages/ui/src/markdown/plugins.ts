import { gfmFromMarkdown } from "mdast-util-gfm";
import { cjkFriendlyExtension } from "micromark-extension-cjk-friendly";
import { gfmStrikethroughCjkFriendly } from "micromark-extension-cjk-friendly-gfm-strikethrough";
import { gfm } from "micromark-extension-gfm";
import type { PluggableList, Processor } from "unified";
import { remarkChatText } from "./chat-text.ts";
import { remarkDisclosures } from "./disclosures.ts";
import { remarkFormulas } from "./mathematics.ts";

/**
 * GFM without single-tilde strikethrough, because a tilde often means "about" or a range, and with emphasis and
 * strikethrough beside full-width punctuation. Replaces remark-gfm and remark-cjk-friendly, which would add 9 KB of
 * Markdown serializers.
 */
function remarkSyntax(this: Processor): void {
  const data = this.data() as Record<string, unknown>;
  data["micromarkExtensions"] = [
    gfm({ singleTilde: false }),
    cjkFriendlyExtension(),
    gfmStrikethroughCjkFriendly({ singleTilde: false }),
  ];
  data["fromMarkdownExtensions"] = [gfmFromMarkdown()];
}

/** Remark plugins for answers. */
export const PLUGINS: PluggableList = [remarkSyntax, remarkFormulas, remarkChatText, remarkDisclosures];
