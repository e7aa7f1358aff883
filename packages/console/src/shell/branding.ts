import { useLayoutEffect } from "react";
import { useConnection } from "../connection/connection.tsx";
import "./branding.css";

/** Default name of the console. */
export const OWN_NAME = "Colloquy";

/**
 * Applies the App's colour and icon. The Content-Security-Policy allows styles that scripts set as
 * properties.
 */
export function useBranding(): void {
  const { accent, favicon } = useConnection().page?.branding ?? {};
  useLayoutEffect(() => {
    const { documentElement: root } = document;
    root.toggleAttribute("data-branded", accent !== undefined);
    if (accent === undefined) root.style.removeProperty("--brand");
    else root.style.setProperty("--brand", accent);
  }, [accent]);
  useLayoutEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link === null || favicon === undefined) return;
    const { href, type } = link;
    link.removeAttribute("type");
    link.href = favicon;
    return () => void Object.assign(link, { href, type });
  }, [favicon]);
}
