import type { ComponentProps, ReactNode } from "react";
import { classes } from "./classes.ts";

export interface ButtonProps extends ComponentProps<"button"> {
  /** `primary`: the main action. `danger`: cannot be undone. `quiet`: beside other actions. */
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
      className={classes("cq-button", `cq-button-${look}`, `cq-button-${size}`, className)}
    />
  );
}

/** A button with an icon. Its `label` is its accessible name and tooltip. */
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
      className={classes("cq-button-icon", className)}
    />
  );
}
