// The frame: threads at the left, the main view in the middle, the developer panel at the right. Without
// enough room, the outer ones become dialogs.

import { Menu } from "../design/icons.tsx";
import { Suspense, useEffect, useRef, useState, type ReactNode } from "react";
import { ChatPage } from "../chat/chat-page.tsx";
import { MissedBar } from "../chat/missed-bar.tsx";
import { IconButton } from "../design/button.tsx";
import { Dialog } from "../design/dialog.tsx";
import { useMediaQuery } from "../design/use-media-query.ts";
import { SettingsDialog } from "../settings/settings-dialog.tsx";
import { WalletDialog } from "../wallet/wallet-dialog.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { lazyPart } from "./lazy-part.ts";
import { hashOf } from "./route.ts";
import { Sidebar } from "./sidebar.tsx";
import { TopBar } from "./top-bar.tsx";
import { useDocumentTitle } from "./use-document-title.ts";
import { useRoute } from "./use-route.ts";
import styles from "./app.module.css";

const DeveloperPanel = lazyPart(
  async () => (await import("../developer/developer-panel.tsx")).DeveloperPanel,
);
const OperatorArea = lazyPart(async () => (await import("../operator/operator-area.tsx")).OperatorArea);

export function App(): ReactNode {
  const route = useRoute();
  const hasSidebar = useMediaQuery("(min-width: 52rem)");
  const [opened, setOpened] = useState<"menu" | "settings" | "wallet" | null>(null);
  const [isDeveloping, setDeveloping] = useState(false);
  const content = useRef<HTMLElement>(null);
  const sessionId = route.page === "chat" ? route.sessionId : null;
  const place = hashOf(route);
  // Close the menu after navigation, because it covers the target. Other dialogs stay.
  useEffect(() => setOpened((opened) => (opened === "menu" ? null : opened)), [place]);

  const close = (): void => setOpened(null);
  const menu = hasSidebar ? null : (
    <IconButton label="Menu" onClick={() => setOpened("menu")}>
      <Menu size={20} />
    </IconButton>
  );
  const sidebar = (
    <Sidebar route={route} onSettings={() => setOpened("settings")} onWallet={() => setOpened("wallet")} />
  );
  return (
    <div className={styles["shell"]}>
      <button type="button" className={styles["skip"]} onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      {hasSidebar && <div className={styles["sidebar"]}>{sidebar}</div>}
      {opened === "menu" && !hasSidebar && (
        <Dialog title="Menu" side="left" onClose={close}>
          {sidebar}
        </Dialog>
      )}
      <main ref={content} tabIndex={-1} className={styles["content"]}>
        <MissedBar />
        <ErrorBoundary key={sessionId ?? route.page}>
          {route.page === "operate" ? (
            <OperatePage view={route.view} menu={menu} />
          ) : (
            <ChatPage
              sessionId={route.sessionId}
              menu={menu}
              isDeveloping={isDeveloping}
              onDevelop={() => setDeveloping(!isDeveloping)}
              onKeyWanted={() => setOpened("settings")}
            />
          )}
        </ErrorBoundary>
      </main>
      {isDeveloping && sessionId !== null && (
        <DeveloperSide sessionId={sessionId} onClose={() => setDeveloping(false)} />
      )}
      {opened === "settings" && <SettingsDialog onClose={close} />}
      {opened === "wallet" && <WalletDialog onClose={close} />}
    </div>
  );
}

function OperatePage({ view, menu }: { readonly view: string; readonly menu: ReactNode }): ReactNode {
  useDocumentTitle("Operate");
  return (
    <>
      <TopBar menu={menu} title="Operate" />
      <Suspense fallback={<p className={styles["loading"]}>Loading…</p>}>
        <OperatorArea view={view} />
      </Suspense>
    </>
  );
}

/** The developer panel beside the chat, or above it if there is no room. */
function DeveloperSide({
  sessionId,
  onClose,
}: {
  readonly sessionId: string;
  readonly onClose: () => void;
}): ReactNode {
  const hasRoom = useMediaQuery("(min-width: 76rem)");
  const panel = (
    <ErrorBoundary key={sessionId}>
      <Suspense fallback={<p className={styles["loading"]}>Loading…</p>}>
        <DeveloperPanel sessionId={sessionId} />
      </Suspense>
    </ErrorBoundary>
  );
  return hasRoom ? (
    <aside className={styles["panel"]} aria-label="Developer">
      {panel}
    </aside>
  ) : (
    <Dialog title="Developer" side="right" onClose={onClose}>
      {panel}
    </Dialog>
  );
}
