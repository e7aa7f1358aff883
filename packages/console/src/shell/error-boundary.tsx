import { Component, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { PartNotLoaded } from "./late-part.ts";
import styles from "./app.module.css";

/** Where something of the console breaks, the rest stays. What the service has is not touched by it. */
export class ErrorBoundary extends Component<
  {
    readonly children: ReactNode;
    /** Stands in the place of what broke; what happened, and how to go on, when absent. */
    readonly fallback?: ReactNode;
  },
  { readonly error: Error | null }
> {
  override readonly state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { readonly error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    const { children, fallback } = this.props;
    if (error === null) return children;
    if (fallback !== undefined) return fallback;
    return (
      <div className={styles["broken"]} role="alert">
        {error instanceof PartNotLoaded ? <NotLoaded /> : <Broken message={error.message} />}
        <Button look="primary" onClick={() => window.location.reload()}>
          Load the page again
        </Button>
      </div>
    );
  }
}

function Broken({ message }: { readonly message: string }): ReactNode {
  return (
    <>
      <h2>Something broke here.</h2>
      <p>
        Nothing is lost: the service has your conversations. Load the page again; if it stays, report this:
      </p>
      <pre>{message}</pre>
    </>
  );
}

function NotLoaded(): ReactNode {
  return (
    <>
      <h2>This part could not be loaded.</h2>
      <p>
        The console may be newer than this page, or the service cannot be reached. Your conversations are with
        the service: load the page again.
      </p>
    </>
  );
}
