import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type Temml from "temml";
import type { Options } from "temml";
import type { Formula as Parsed } from "./mathematics.ts";

type Renderer = Pick<typeof Temml, "render">;

let renderer: Renderer | null = null;

/**
 * Limits for untrusted formulas: no links, images or styles, at most 1,000 macro expansions (Temml's default), and
 * sizes of at most 20 em.
 */
export const LIMITS = {
  trust: false,
  maxExpand: 1_000,
  maxSize: [20, 20],
  throwOnError: true,
} satisfies Options;

/** Imports Temml, whose type declarations wrongly describe named exports instead of a default object. */
async function loadRenderer(): Promise<Renderer> {
  return ((await import("temml")) as unknown as { readonly default: Renderer }).default;
}

/** Renders a formula as MathML. Shows its source while the renderer loads, and if the formula is invalid. */
export function Formula({ tex, isDisplay }: Parsed): ReactNode {
  const [loaded, setLoaded] = useState(renderer);
  const [isBroken, setBroken] = useState(false);
  const target = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (loaded !== null) return;
    // If the import fails, the source stays visible.
    loadRenderer().then(
      (module) => setLoaded((renderer = module)),
      () => undefined,
    );
  }, [loaded]);
  useLayoutEffect(() => {
    if (loaded === null || target.current === null) return;
    try {
      loaded.render(tex, target.current, { ...LIMITS, displayMode: isDisplay });
      setBroken(false);
    } catch {
      setBroken(true);
    }
  }, [loaded, tex, isDisplay]);
  const source = isDisplay ? `\\[${tex}\\]` : `\\(${tex}\\)`;
  const isShown = loaded !== null && !isBroken;
  return (
    <span className={isDisplay ? "cq-formula cq-formula-display" : "cq-formula"} dir="ltr">
      {!isShown && <code>{source}</code>}
      <span ref={target} hidden={!isShown} />
    </span>
  );
}
