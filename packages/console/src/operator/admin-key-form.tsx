import { useId, useState, type FormEvent, type ReactNode } from "react";
import { Button } from "@colloquy/ui/parts";
import { useConnection } from "../connection/connection.tsx";
import { Reason, useBegin, useIsFinishing } from "../sign-in/sign-in-gate.tsx";
import type { Refusal } from "./administration.tsx";
import styles from "./operator.module.css";

/** Asks for the admin key, and shows why the last one was refused. */
export function AdminKeyForm({
  refusal,
  onEnter,
}: {
  readonly refusal: Refusal | null;
  readonly onEnter: (key: string) => void;
}): ReactNode {
  const { operatorState } = useConnection();
  const { begin, failure } = useBegin("operator");
  const isFinishing = useIsFinishing();
  const id = useId();
  const [key, setKey] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (key.trim() !== "") onEnter(key.trim());
  };
  return (
    <form className={styles["gate"]} onSubmit={submit}>
      <h2>For the operator of this service</h2>
      {isFinishing && <p role="status">Signing you in…</p>}
      <Reason sentence={failure ?? operatorState.reason} />
      {begin !== null && (
        <>
          <p>Sign in with your account, if it is that of an operator.</p>
          <Button look="primary" onClick={begin}>
            Sign in
          </Button>
        </>
      )}
      {refusal === "no-area" ? (
        <p role="alert">
          This service has no operators’ area: start it with <code>COLLOQUY_ADMIN_KEY</code> set to a long
          random text (<code>openssl rand -base64 32</code>), and enter that here.
        </p>
      ) : (
        <p>
          {begin === null ? "Enter" : "Or enter"} the key that the service was started with, in{" "}
          <code>COLLOQUY_ADMIN_KEY</code>. It stays in this tab, and is forgotten when the tab is closed.
        </p>
      )}
      <label htmlFor={id}>Admin key</label>
      <input
        id={id}
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={key}
        aria-invalid={refusal === "wrong-key"}
        aria-describedby={refusal === "wrong-key" ? `${id}-wrong` : undefined}
        onChange={(event) => setKey(event.target.value)}
      />
      {refusal === "wrong-key" && (
        <p role="alert" id={`${id}-wrong`} className={styles["wrong"]}>
          The service does not accept this key.
        </p>
      )}
      <Button type="submit" look={begin === null ? "primary" : "plain"}>
        Open
      </Button>
    </form>
  );
}
