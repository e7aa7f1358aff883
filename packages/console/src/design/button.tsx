import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes.ts";
import styles from "./button.module.css";

export interface ButtonProps extends ComponentProps<"button"> {
  /** `primary`: the one thing to do here. `danger`: what cannot be undone. `quiet`: beside other things. */
  readonly look?: "primary" | "plain" | "quiet" | "danger";
  readonly size?: "small" | "medium";
}

export function Button({
  look = "plain",
  size = "medium",
  className,
  type = "button",
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type={type}
      className={classes(styles["button"], styles[look], styles[size], className)}
    />
  );
}

/** A button that shows an icon. Its `label` is its name, and comes up when one points at it. */
export function IconButton({
  label,
  look = "quiet",
  className,
  ...rest
}: ButtonProps & { readonly label: string }): ReactNode {
  return (
    <Button
      {...rest}
      look={look}
      aria-label={label}
      title={label}
      className={classes(styles["icon"], className)}
    />
  );
}
