// The frame: threads at the left, the main view in the middle, the developer panel at the right. Without
// enough room, the outer ones become dialogs.

import { Chat } from "@colloquy/ui";
import {
  Code,
  Dialog,
  ErrorBoundary,
  Frame,
  IconButton,
  lazyPart,
  MissedBar,
  TopBar,
  useDocumentTitle,
  useMediaQuery,
} from "@colloquy/ui/parts";
import { useApprovals } from "@colloquy/react";
import { Suspense, useState, type ReactNode } from "react";
import { ApprovalsPage } from "../approvals/approvals-page.tsx";
import { AppPicker } from "../chat/app-picker.tsx";
import { SettingsDialog } from "../settings/settings-dialog.tsx";
import { WalletDialog } from "../wallet/wallet-dialog.tsx";
import { useConnection } from "../connection/connection.tsx";
import { SignInBar, SignInGate, useIsFinishing } from "../sign-in/sign-in-gate.tsx";
import { useBranding } from "./branding.ts";
import { ConnectedPage } from "./connected-page.tsx";
import { hashOf } from "./route.ts";
import { Sidebar } from "./sidebar.tsx";
import { useRoute } from "./use-route.ts";
import styles from "./app.module.css";

const DeveloperPanel = lazyPart(
  async () => (await import("../developer/developer-panel.tsx")).DeveloperPanel,
);
const OperatorArea = lazyPart(async () => (await import("../operator/operator-area.tsx")).OperatorArea);

export function App(): ReactNode {
  const route = useRoute();
  useBranding();
  const { page, isPageAwaited, userState } = useConnection();
  const [opened, setOpened] = useState<"settings" | "key" | "wallet" | null>(null);
  const [isDeveloping, setDeveloping] = useState(false);
  const sessionId = route.page === "chat" ? route.sessionId : null;
  // The route rejects users of an App without approvers.
  const approvals = useApprovals(userState.signedIn !== null && page?.has_approvers === true);
  const isFinishing = useIsFinishing();
  const isGated = isFinishing || (page?.requires_sign_in === true && userState.signedIn === null);
  const close = (): void => setOpened(null);
  return (
    <ConnectedPage onKeyWanted={() => setOpened("key")}>
      <Frame
        className={styles["page"]}
        place={`${hashOf(route)} ${opened ?? ""}`}
        navigation={
          <Sidebar
            route={route}
            approvals={approvals}
            onSettings={() => setOpened("settings")}
            onWallet={() => setOpened("wallet")}
          />
        }
        aside={
          <>
            {isDeveloping && sessionId !== null && (
              <DeveloperSide sessionId={sessionId} onClose={() => setDeveloping(false)} />
            )}
            {(opened === "settings" || opened === "key") && (
              <SettingsDialog isKeyWanted={opened === "key"} onClose={close} />
            )}
            {opened === "wallet" && <WalletDialog onClose={close} />}
          </>
        }
      >
        {(menu) => (
          <>
            <MissedBar />
            {!isGated && <SignInBar />}
            <ErrorBoundary key={sessionId ?? route.page}>
              {route.page === "operate" ? (
                <OperatePage view={route.view} menu={menu} />
              ) : route.page === "approvals" && !isGated ? (
                <ApprovalsPage approvals={approvals} menu={menu} />
              ) : isGated || route.page === "approvals" ? (
                <SignInGate menu={menu} />
              ) : isPageAwaited ? null : (
                <Chat
                  sessionId={route.sessionId}
                  menu={menu}
                  pickers={<AppPicker />}
                  actions={
                    <IconButton
                      label="Developer panel"
                      aria-pressed={isDeveloping}
                      onClick={() => setDeveloping(!isDeveloping)}
                    >
                      <Code size={18} />
                    </IconButton>
                  }
                />
              )}
            </ErrorBoundary>
          </>
        )}
      </Frame>
    </ConnectedPage>
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
