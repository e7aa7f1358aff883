import type { Notice } from "@colloquy/react";
import { CircleAlert, Info, TriangleAlert } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { classes } from "../design/classes.ts";

const ICONS = { info: Info, warning: TriangleAlert, error: CircleAlert };

/** A notice of the service about a message. */
export function NoticeLine({ notice: data }: { readonly notice: Notice }): ReactNode {
  const Icon = ICONS[data.level];
  return (
    <p className={classes("cq-message-notice", `cq-message-${data.level}`)}>
      <Icon size={16} />
      <span dir="auto">{data.message}</span>
    </p>
  );
}
