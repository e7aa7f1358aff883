import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ConnectionProvider } from "./connection/connection.tsx";
import "./design/tokens.css";
import "./design/base.css";
import { applyTheme } from "./design/theme.ts";
import { App } from "./shell/app.tsx";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(
  <StrictMode>
    <ConnectionProvider>
      <App />
    </ConnectionProvider>
  </StrictMode>,
);
