import type { ReactNode } from "react";
import { classes } from "../design/classes.ts";
import { SquarePen } from "../design/icons.tsx";
import { usePage } from "./page-context.tsx";

/** An icon that starts a new conversation; nothing where one is being started. */
export function NewChatLink({ className }: { readonly className?: string }): ReactNode {
  const { address } = usePage();
  if (address.isFixed === true || address.shown() === null) return null;
  return (
    <a
      className={classes("cq-button cq-button-quiet cq-button-icon", className)}
      href={address.hrefOf(null)}
      aria-label="New chat"
      title="New chat"
    >
      <SquarePen size={18} />
    </a>
  );
}
