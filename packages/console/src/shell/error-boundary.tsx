import { Component, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { PartNotLoaded } from "./lazy-part.ts";
import styles from "./app.module.css";

/** Catches rendering errors of a part of the console, so that the rest keeps working. */
export class ErrorBoundary extends Component<
  {
    readonly children: ReactNode;
    /** Shown in place of the broken part; an explanation when absent. */
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
          Reload the page
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
        Nothing is lost: the service has your conversations. Reload the page; if this happens again, report
        this:
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
        the service: reload the page.
      </p>
    </>
  );
}
