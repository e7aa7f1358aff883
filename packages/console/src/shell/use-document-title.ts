import { useEffect } from "react";

/** Sets the tab's title while the component is mounted. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Colloquy`;
  }, [title]);
}
