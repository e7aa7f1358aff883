import { Activity, SquarePen } from "lucide-react";
import type { ReactNode } from "react";
import { hashOf, type Route } from "./route.ts";
import styles from "./sidebar.module.css";

/** Where one can go. */
export function Sidebar({ route }: { readonly route: Route }): ReactNode {
  return (
    <nav className={styles["sidebar"]} aria-label="Main">
      <a className={styles["link"]} href={hashOf({ page: "chat", sessionId: null })}>
        <SquarePen size={16} aria-hidden />
        New chat
      </a>
      <a
        className={styles["link"]}
        href={hashOf({ page: "operate", view: "overview" })}
        aria-current={route.page === "operate" ? "page" : undefined}
      >
        <Activity size={16} aria-hidden />
        Operate
      </a>
    </nav>
  );
}
