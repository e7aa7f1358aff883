import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { OWN_NAME } from "./branding.ts";
import styles from "./sidebar.module.css";

export function Brand(): ReactNode {
  const { name, logo } = useConnection().page?.branding ?? {};
  return (
    <>
      {logo !== undefined ? (
        <img className={styles["logo"]} src={logo} alt="" />
      ) : (
        name === undefined && <OwnLogo />
      )}
      <bdi className={styles["name"]}>{name ?? OWN_NAME}</bdi>
    </>
  );
}

function OwnLogo(): ReactNode {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden>
      <rect width="32" height="32" rx="8" fill="#0f5f66" />
      <path
        d="M10 7h9a4 4 0 0 1 4 4v2h-8a4 4 0 0 0-4 4v2.5L7.7 17.5A4 4 0 0 1 6 14v-3a4 4 0 0 1 4-4z"
        fill="#fff"
      />
      <path
        d="M16 15h7a3 3 0 0 1 3 3v3a3 3 0 0 1-1.5 2.6V27l-3.3-3H16a3 3 0 0 1-3-3v-3a3 3 0 0 1 3-3z"
        fill="#8fd6d2"
      />
    </svg>
  );
}
