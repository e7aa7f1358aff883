import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // Browsers with light-dark(): a page can then switch its theme by `color-scheme`.
  build: { target: ["chrome125", "edge125", "firefox128", "safari18"] },
});
