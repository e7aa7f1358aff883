import type { ReactNode } from "react";

export interface ChatPageProps {
  /** `null` for a new conversation. */
  readonly sessionId: string | null;
  /** Opens the menu on narrow screens. */
  readonly menu: ReactNode;
  readonly isDeveloping: boolean;
  readonly onDevelop: () => void;
  /** Called when an App key is needed. */
  readonly onKeyWanted: () => void;
}
