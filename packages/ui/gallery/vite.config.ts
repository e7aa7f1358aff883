import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [react()],
  // Browsers that support light-dark().
  build: { target: ["chrome125", "edge125", "firefox128", "safari18"] },
  server: { host: "127.0.0.1", port: 5174 },
});
