import { Activity, Check, Settings, shortAddress, Wallet } from "@colloquy/ui/parts";
import { Navigation } from "@colloquy/ui";
import type { ReactNode } from "react";
import type { Approvals } from "@colloquy/react";
import { useConnection } from "../connection/connection.tsx";
import { UserEntry } from "../sign-in/user-entry.tsx";
import { Brand } from "./brand.tsx";
import { hashOf, type Route } from "./route.ts";
import styles from "./sidebar.module.css";

/** Navigation and global settings. */
export function Sidebar({
  route,
  approvals,
  onSettings,
  onWallet,
}: {
  readonly route: Route;
  /** `null` if the user is not an approver. */
  readonly approvals: Approvals;
  readonly onSettings: () => void;
  readonly onWallet: () => void;
}): ReactNode {
  const { wallet, app, page, adminKey, operatorState } = useConnection();
  const isOperating = route.page === "operate";
  const isOperator = adminKey !== null || operatorState.signedIn !== null;
  return (
    <Navigation
      current={route.page === "chat" ? route.sessionId : undefined}
      brand={<Brand />}
      footer={
        <>
          <UserEntry className="cq-navigation-link" />
          {(page?.wallets === true || wallet !== null) && (
            <button type="button" className="cq-navigation-link" onClick={onWallet}>
              <Wallet size={16} />
              {wallet === null ? (
                "Connect a wallet"
              ) : (
                <span title={wallet}>Wallet {shortAddress(wallet)}</span>
              )}
            </button>
          )}
          <button type="button" className="cq-navigation-link" onClick={onSettings}>
            <Settings size={16} />
            Settings
            {app !== null && <bdi className={styles["app"]}>{app}</bdi>}
          </button>
          {approvals.actions !== null && (
            <a
              className="cq-navigation-link"
              href={hashOf({ page: "approvals" })}
              aria-current={route.page === "approvals" ? "page" : undefined}
            >
              <Check size={16} />
              Approvals
              {approvals.actions.length > 0 && (
                <span className={styles["app"]}>
                  {approvals.actions.length}
                  {approvals.hasMore && "+"}
                </span>
              )}
            </a>
          )}
          {(isOperator || isOperating) && (
            <a
              className="cq-navigation-link"
              href={hashOf({ page: "operate", view: "overview" })}
              aria-current={isOperating ? "page" : undefined}
            >
              <Activity size={16} />
              Operate
            </a>
          )}
        </>
      }
    />
  );
}
