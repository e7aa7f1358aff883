import type { KeyboardEvent } from "react";

/** Ignores the Enter that ends an IME composition. Safari marks it only by key code 229. */
export function keepComposition(event: KeyboardEvent): void {
  if (event.key === "Enter" && event.keyCode === 229) event.preventDefault();
}
