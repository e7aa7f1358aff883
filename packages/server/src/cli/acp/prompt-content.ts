// Converts prompts of the Agent Client Protocol to message text and files to upload.

import type { ContentBlock } from "@agentclientprotocol/sdk";

export interface PromptContent {
  readonly text: string;
  readonly files: readonly PromptFile[];
}

export interface PromptFile {
  readonly content: Blob;
  /** `undefined` lets the service choose a name. */
  readonly name: string | undefined;
}

/**
 * Converts links to Markdown links, and embedded text to a URI and a code block. Images, audio and binary
 * resources become files.
 */
export function contentOf(prompt: readonly ContentBlock[]): PromptContent {
  const texts: string[] = [];
  const files: PromptFile[] = [];
  for (const block of prompt) {
    switch (block.type) {
      case "text":
        texts.push(block.text);
        break;
      case "resource_link":
        texts.push(`[${block.name}](${block.uri})`);
        break;
      case "image":
        files.push(fileOf(block.data, block.mimeType, block.uri));
        break;
      case "audio":
        files.push(fileOf(block.data, block.mimeType, null));
        break;
      case "resource": {
        const { resource } = block;
        if ("text" in resource) texts.push(quoted(resource.uri, resource.text));
        else files.push(fileOf(resource.blob, resource.mimeType, resource.uri));
      }
    }
  }
  return { text: texts.join(""), files };
}

/** `data` is Base64. */
function fileOf(data: string, type: string | null | undefined, uri: string | null | undefined): PromptFile {
  return { content: new Blob([Buffer.from(data, "base64")], { type: type ?? "" }), name: nameOf(uri) };
}

/** Returns the last path segment of a URI. */
function nameOf(uri: string | null | undefined): string | undefined {
  const last =
    URL.parse(uri ?? "")
      ?.pathname.split("/")
      .at(-1) ?? "";
  if (last === "") return undefined;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Returns the text in a Markdown fence that is longer than any fence in the text. */
function quoted(uri: string, text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = "`".repeat(Math.max(2, ...runs.map(({ length }) => length)) + 1);
  return `\n\n${uri}\n${fence}\n${text}\n${fence}\n`;
}
