import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Address of `npm start`; `npm run dev` proxies to it everything that is not a file of the console. */
const SERVICE = "http://127.0.0.1:8080";

export default defineConfig({
  // Relative, because the page may be served under a path.
  base: "./",
  plugins: [react()],
  resolve: {
    alias: {
      // Replaces a dependency of the Markdown parser: its browser version sets innerHTML, which the page's
      // policy refuses, so that any "&amp;" in an answer would break the page. This version uses a table, 12
      // KB more.
      "decode-named-character-reference": fileURLToPath(
        import.meta.resolve("decode-named-character-reference"),
      ),
    },
  },
  // Browsers of these versions support light-dark(), nesting, popover and dialog, so nothing is transpiled.
  build: {
    target: ["chrome125", "edge125", "firefox128", "safari18"],
    // The page's policy allows files of this server only: no inline code, no images as data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    manifest: true,
  },
  css: { modules: { localsConvention: "dashes" } },
  server: {
    host: "127.0.0.1",
    port: 5173,
    proxy: { "/api": SERVICE, "/healthz": SERVICE, "/readyz": SERVICE },
  },
});
