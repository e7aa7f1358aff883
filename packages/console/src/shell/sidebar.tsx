import { Activity, Settings, SquarePen, Wallet } from "../design/icons.tsx";
import type { ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { ThreadList } from "../threads/thread-list.tsx";
import { shortAddress } from "../wallet/amount.ts";
import { Brand } from "./brand.tsx";
import { hashOf, type Route } from "./route.ts";
import styles from "./sidebar.module.css";

/** Navigation and global settings. */
export function Sidebar({
  route,
  onSettings,
  onWallet,
}: {
  readonly route: Route;
  readonly onSettings: () => void;
  readonly onWallet: () => void;
}): ReactNode {
  const { wallet, app } = useConnection();
  const isNew = route.page === "chat" && route.sessionId === null;
  return (
    <nav className={styles["sidebar"]} aria-label="Main">
      <div className={styles["top"]}>
        <Brand />
        <a
          className={styles["new"]}
          href={hashOf({ page: "chat", sessionId: null })}
          aria-current={isNew ? "page" : undefined}
        >
          <SquarePen size={16} />
          New chat
        </a>
      </div>
      <ThreadList current={route.page === "chat" ? route.sessionId : null} />
      <div className={styles["bottom"]}>
        <button type="button" className={styles["link"]} onClick={onWallet}>
          <Wallet size={16} />
          {wallet === null ? "Connect a wallet" : <span title={wallet}>Wallet {shortAddress(wallet)}</span>}
        </button>
        <button type="button" className={styles["link"]} onClick={onSettings}>
          <Settings size={16} />
          Settings
          {app !== null && <bdi className={styles["app"]}>{app}</bdi>}
        </button>
        <a
          className={styles["link"]}
          href={hashOf({ page: "operate", view: "overview" })}
          aria-current={route.page === "operate" ? "page" : undefined}
        >
          <Activity size={16} />
          Operate
        </a>
      </div>
    </nav>
  );
}
