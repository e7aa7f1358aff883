import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { LogIn, LogOut } from "@colloquy/ui/parts";
import { textsOfUser } from "./sign-ins.ts";
import { useBegin } from "./sign-in-gate.tsx";
import styles from "./sign-in.module.css";

/** Sidebar entry to sign in or out. Renders nothing if the App has no sign-in. */
export function UserEntry({ className }: { readonly className: string | undefined }): ReactNode {
  const { user, userState, signIns } = useConnection();
  const { begin } = useBegin("user");
  const { signedIn } = userState;
  if (signedIn !== null)
    return (
      <button
        type="button"
        className={className}
        onClick={() => signIns.signOut(user, textsOfUser(Object.keys(sessionStorage), window.location))}
      >
        <LogOut size={16} />
        Sign out
        {signedIn.name !== null && (
          <bdi className={styles["name"]} title={signedIn.name}>
            {signedIn.name}
          </bdi>
        )}
      </button>
    );
  return begin === null ? null : (
    <button type="button" className={className} onClick={begin}>
      <LogIn size={16} />
      Sign in
    </button>
  );
}
