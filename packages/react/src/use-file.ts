import { useEffect, useState } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";

export interface FileView {
  /** Address of the bytes in this page, valid while the component is mounted; `null` before they have arrived. */
  readonly url: string | null;
  /** Why the file could not be fetched. */
  readonly error: Error | null;
}

const NONE: FileView = { url: null, error: null };

/**
 * Fetches a file of a session, because `<img>` cannot send the session's header. `fileId` is `null` to fetch nothing.
 */
export function useFile(sessionId: string, fileId: string | null): FileView {
  const session = useColloquyContext().pool.session(sessionId);
  const [view, setView] = useState<FileView>(NONE);
  useEffect(() => {
    if (fileId === null) return undefined;
    const abort = new AbortController();
    let url: string | null = null;
    session.download(fileId, { signal: abort.signal }).then(
      (blob) => {
        if (abort.signal.aborted) return;
        url = URL.createObjectURL(blob);
        setView({ url, error: null });
      },
      (error: Error) => {
        if (!abort.signal.aborted) setView({ url: null, error });
      },
    );
    return () => {
      abort.abort();
      if (url !== null) URL.revokeObjectURL(url);
      setView(NONE);
    };
  }, [session, fileId]);
  return view;
}
