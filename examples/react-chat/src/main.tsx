import { createClient } from "@colloquy/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "@colloquy/ui/styles.css";
import "./style.css";

// `VITE_COLLOQUY_URL=https://chat.example.com npm run dev` uses a service elsewhere.
const env = import.meta.env as { readonly VITE_COLLOQUY_URL?: string };
const client = createClient({ baseUrl: env.VITE_COLLOQUY_URL ?? "http://127.0.0.1:8080" });

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(
  <StrictMode>
    <App client={client} />
  </StrictMode>,
);
