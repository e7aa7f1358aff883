import { useState, useSyncExternalStore, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { Button, TopBar, useDocumentTitle } from "@colloquy/ui/parts";
import type { Purpose } from "./requests.ts";
import styles from "./sign-in.module.css";

/** Returns a function that redirects to the login (`null` if there is none), and the last failure. */
export function useBegin(purpose: Purpose) {
  const { page, requestApp, signIns } = useConnection();
  const [failure, setFailure] = useState<string | null>(null);
  const at = (purpose === "operator" ? page?.operator_sign_in : page?.sign_in) ?? null;
  const begin =
    at === null
      ? null
      : (): void => {
          setFailure(null);
          signIns
            .begin(at, { purpose, app: requestApp })
            .catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
        };
  return { begin, failure };
}

/** Returns true while the response of the login is being processed. */
export function useIsFinishing(): boolean {
  const { signIns } = useConnection();
  return useSyncExternalStore(signIns.subscribe, signIns.isFinishing);
}

/** Shown instead of the chat if the App requires sign-in. */
export function SignInGate({ menu }: { readonly menu: ReactNode }): ReactNode {
  const { page, userState } = useConnection();
  const { begin, failure } = useBegin("user");
  const isFinishing = useIsFinishing();
  const name = page?.branding.name ?? "this assistant";
  useDocumentTitle("Sign in");
  return (
    <>
      <TopBar menu={menu} title="Sign in" />
      {isFinishing ? (
        <p className={styles["waiting"]} role="status">
          Signing you in…
        </p>
      ) : (
        <section className={styles["gate"]} aria-label="Sign in">
          {page?.branding.logo !== undefined && <img src={page.branding.logo} alt="" />}
          <h2>
            Sign in to talk to <bdi>{name}</bdi>
          </h2>
          <p>
            {begin === null
              ? "This assistant requires you to sign in, which is not possible on this page. Open it from the page where you usually use it, or ask its operator."
              : "You will leave this page to sign in, and return here afterwards."}
          </p>
          <Reason sentence={failure ?? userState.reason} />
          {begin !== null && (
            <Button look="primary" onClick={begin}>
              Sign in
            </Button>
          )}
        </section>
      )}
    </>
  );
}

/** Reports that a sign-in has ended or failed, in Apps that do not require one. */
export function SignInBar(): ReactNode {
  const { userState } = useConnection();
  const { begin, failure } = useBegin("user");
  const reason = failure ?? userState.reason;
  if (reason === null || begin === null) return null;
  return (
    <div className={styles["bar"]} role="alert">
      <p>{reason}</p>
      <Button size="small" onClick={begin}>
        Sign in
      </Button>
    </div>
  );
}

/** Shows why the user is not signed in. */
export function Reason({ sentence }: { readonly sentence: string | null }): ReactNode {
  return sentence === null ? null : (
    <p className={styles["reason"]} role="alert">
      {sentence}
    </p>
  );
}
