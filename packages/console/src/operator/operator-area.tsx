import { ErrorBoundary, IconButton, LogOut } from "@colloquy/ui/parts";
import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { useConnection } from "../connection/connection.tsx";
import { hashOf } from "../shell/route.ts";
import { AdminKeyForm } from "./admin-key-form.tsx";
import { AdministrationProvider, type Refusal } from "./administration.tsx";
import { AppsView } from "./apps-view.tsx";
import { AuditView } from "./audit-view.tsx";
import { FeedbackView } from "./feedback-view.tsx";
import { KeysView } from "./keys-view.tsx";
import { LatencyView } from "./latency-view.tsx";
import { OverviewView } from "./overview-view.tsx";
import { SessionView } from "./session-view.tsx";
import { SessionsView } from "./sessions-view.tsx";
import { UsageView } from "./usage-view.tsx";
import styles from "./operator.module.css";

const VIEWS = [
  ["overview", "Overview"],
  ["sessions", "Sessions"],
  ["apps", "Apps"],
  ["keys", "Keys"],
  ["usage", "Usage"],
  ["latency", "Latency"],
  ["feedback", "Feedback"],
  ["audit", "Audit"],
] as const;

/** The operators' area. `view` is the rest of the address after `#/operate/`. */
export function OperatorArea({ view }: { readonly view: string }): ReactNode {
  const { adminKey, operatorState, signIns, change } = useConnection();
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const refuse = useCallback(
    (refusal: Refusal) => {
      setRefusal(refusal);
      change({ adminKey: null });
    },
    [change],
  );
  if (adminKey === null && operatorState.signedIn === null)
    return (
      <AdminKeyForm
        refusal={refusal}
        onEnter={(key) => {
          setRefusal(null);
          change({ adminKey: key });
        }}
      />
    );
  const [name = "overview", sessionId] = view.split("/");
  return (
    <AdministrationProvider adminKey={adminKey} operator={signIns.operator} onRefused={refuse}>
      <div className={styles["bar"]}>
        <Views current={name} />
        {adminKey === null ? (
          <IconButton label="Sign out" onClick={() => signIns.signOut(signIns.operator, [])}>
            <LogOut size={17} />
          </IconButton>
        ) : (
          <IconButton label="Forget the admin key" onClick={() => change({ adminKey: null })}>
            <LogOut size={17} />
          </IconButton>
        )}
      </div>
      <ErrorBoundary key={view}>
        <Page>{viewNamed(name, sessionId)}</Page>
      </ErrorBoundary>
    </AdministrationProvider>
  );
}

function Views({ current }: { readonly current: string }): ReactNode {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = nav.current?.querySelector('[aria-current="page"]');
    link?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  return (
    <nav ref={nav} aria-label="Operate" className={styles["views"]}>
      {VIEWS.map(([view, label]) => (
        <a
          key={view}
          href={hashOf({ page: "operate", view })}
          aria-current={view === current ? "page" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

/** Scrolls by itself, also by keyboard, and starts at its top. */
function Page({ children }: { readonly children: ReactNode }): ReactNode {
  const page = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // In braces: new browsers return a promise, which an effect must not.
    page.current?.scrollTo(0, 0);
  }, []);
  return (
    <div ref={page} className={styles["page"]} tabIndex={0} role="region" aria-label="Report">
      <div className={styles["content"]}>{children}</div>
    </div>
  );
}

function viewNamed(name: string, sessionId: string | undefined): ReactNode {
  switch (name) {
    case "sessions":
      return sessionId === undefined ? <SessionsView /> : <SessionView sessionId={sessionId} />;
    case "apps":
      return <AppsView />;
    case "keys":
      return <KeysView />;
    case "usage":
      return <UsageView />;
    case "latency":
      return <LatencyView />;
    case "feedback":
      return <FeedbackView />;
    case "audit":
      return <AuditView />;
    default:
      return <OverviewView />;
  }
}
