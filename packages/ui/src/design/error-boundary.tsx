import { Component, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { PartNotLoaded } from "./lazy-part.ts";

/** Contains rendering errors, so that the rest of the page keeps working. */
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
      <div className="cq-broken" role="alert">
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
        The service may have a newer page than this one, or the service cannot be reached. Your conversations
        are with the service: reload the page.
      </p>
    </>
  );
}
