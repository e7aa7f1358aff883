import { keepComposition } from "./keep-composition.ts";
import { useId, type ComponentProps, type ReactNode } from "react";

/** Buttons of a dialog, the decisive one last. */
export function DialogButtons({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className="cq-dialog-parts-buttons">{children}</div>;
}

/** Shows why an action failed. */
export function DialogFailure({ sentence }: { readonly sentence: string | null }): ReactNode {
  return sentence === null ? null : (
    <p className="cq-dialog-parts-failure" role="alert">
      {sentence}
    </p>
  );
}

/** A text input with its label above and a hint below. */
export function Field({
  label,
  hint,
  ...input
}: ComponentProps<"input"> & { readonly label: string; readonly hint?: string }): ReactNode {
  const id = useId();
  return (
    <div className="cq-dialog-parts-field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        autoComplete="off"
        spellCheck={false}
        onKeyDown={keepComposition}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        {...input}
      />
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}
