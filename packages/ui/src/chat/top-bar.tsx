import type { ReactNode } from "react";
import { NewChatLink } from "./new-chat-link.tsx";

/** The bar above the main view: menu button, title, actions and, on narrow screens, a new chat. */
export function TopBar({
  menu,
  title,
  heading = <h1 className="cq-top-bar-title">{title}</h1>,
  children,
}: {
  readonly menu?: ReactNode;
  readonly title: string;
  /** Replaces the title, for example by one with a menu. */
  readonly heading?: ReactNode;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <header className="cq-top-bar">
      {menu}
      {heading}
      <div className="cq-top-bar-actions">
        {children}
        <NewChatLink className="cq-top-bar-new" />
      </div>
    </header>
  );
}
