import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";

export interface Bundle {
  readonly entries: readonly string[];
  readonly outdir: string;
  /** True to include all dependencies and minify, for pages without a bundler. */
  readonly isAlone: boolean;
}

/** Bundles entry points of the package. Returns esbuild's metafile. */
export async function bundle({ entries, outdir, isAlone }: Bundle): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [...entries],
    outbase: join(import.meta.dirname, "../src"),
    outdir,
    bundle: true,
    splitting: true,
    chunkNames: isAlone ? "element/[name]-[hash]" : "shared/[name]-[hash]",
    sourcemap: !isAlone,
    metafile: true,
    format: "esm",
    target: ["es2022", "chrome125", "edge125", "firefox128", "safari18"],
    jsx: "automatic",
    ...(isAlone ? ALONE : { packages: "external", platform: "neutral" }),
  });
  return metafile;
}

const ALONE = {
  minify: true,
  platform: "browser",
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "linked",
  alias: {
    // The package's browser build sets innerHTML, which fails under Trusted Types.
    "decode-named-character-reference": fileURLToPath(
      import.meta.resolve("decode-named-character-reference"),
    ),
  },
} as const;
