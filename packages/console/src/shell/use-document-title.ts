import { useEffect } from "react";

/** Names the tab while the component is there. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Colloquy`;
  }, [title]);
}
