import type { Attachment } from "@colloquy/client";
import { createContext, type ComponentType } from "react";

/** Shows the files of results in a conversation; `null` elsewhere, because files belong to a session. */
export const ResultFilesContext = createContext<ComponentType<{
  readonly files: readonly Attachment[];
}> | null>(null);
