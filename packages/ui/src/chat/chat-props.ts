import type { ReactNode } from "react";
import type { Components } from "./components.tsx";

export interface ChatProps {
  /** `null` for a new conversation. */
  readonly sessionId: string | null;
  /** Rendered before the title: the button that opens the menu on narrow screens. */
  readonly menu?: ReactNode;
  /** Rendered beside the title of a conversation. */
  readonly actions?: ReactNode;
  /** Rendered beside the model picker of a new conversation. */
  readonly pickers?: ReactNode;
  /** Replaces parts of the conversation. Must be the same object on each render. */
  readonly components?: Partial<Components> | undefined;
}
