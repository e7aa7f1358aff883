import type { Notice } from "@colloquy/react";
import { CircleAlert, Info, TriangleAlert } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { classes } from "../design/classes.ts";
import styles from "./message.module.css";

const ICONS = { info: Info, warning: TriangleAlert, error: CircleAlert };

/** A notice of the service about a message. */
export function NoticePart({ data }: { readonly data: Notice }): ReactNode {
  const Icon = ICONS[data.level];
  return (
    <p className={classes(styles["notice"], styles[data.level])}>
      <Icon size={16} />
      <span dir="auto">{data.message}</span>
    </p>
  );
}
