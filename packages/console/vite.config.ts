import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where `npm start` listens; `npm run dev` passes on to it what is not a file of the console. */
const SERVICE = "http://127.0.0.1:8080";

export default defineConfig({
  // Wherever the page is served from, its files are beside it.
  base: "./",
  plugins: [react()],
  resolve: {
    alias: {
      // Markdown's parser takes another one in browsers, which sets innerHTML: the page's policy refuses that, so that any "&amp;" of an
      // answer would end the page. This one has a table, 12 KB more to load.
      "decode-named-character-reference": fileURLToPath(
        import.meta.resolve("decode-named-character-reference"),
      ),
    },
  },
  // Browsers of these versions know light-dark(), nesting, popover and dialog, so nothing is rewritten for older ones.
  build: {
    target: ["chrome125", "edge125", "firefox128", "safari18"],
    // The policy of the page allows files of this server alone: nothing inside the page, and no picture as data.
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
