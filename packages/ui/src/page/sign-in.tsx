import { useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { DialogFailure, Field } from "../design/dialog-parts.tsx";

export interface SignInProps {
  readonly title?: string;
  /** Signs the user in. May reject with an `Error`, whose message is shown. */
  readonly onSignIn: (name: string, password: string) => Promise<void>;
}

/** A form with name and password, for applications with their own sign-in. */
export function SignIn({ title = "Sign in", onSignIn }: SignInProps): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const textOf = (name: string): string => {
      const value = fields.get(name);
      return typeof value === "string" ? value : "";
    };
    setBusy(true);
    setFailure(null);
    try {
      await onSignIn(textOf("name"), textOf("password"));
    } catch (error) {
      setFailure(error instanceof Error ? error.message : "That did not work. Try again.");
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="cq cq-sign-in" onSubmit={(event) => void submit(event)}>
      <h1>{title}</h1>
      <Field label="Name" name="name" autoComplete="username" required />
      <Field label="Password" name="password" type="password" autoComplete="current-password" required />
      <DialogFailure sentence={failure} />
      <Button type="submit" look="primary" disabled={isBusy}>
        {title}
      </Button>
    </form>
  );
}
