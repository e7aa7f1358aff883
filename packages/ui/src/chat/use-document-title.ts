import { useEffect } from "react";
import { usePage } from "./page-context.tsx";

/** Sets the tab's title while the component is mounted. */
export function useDocumentTitle(title: string): void {
  const { name = "Colloquy" } = usePage();
  useEffect(() => {
    document.title = `${title} · ${name}`;
  }, [title, name]);
}
