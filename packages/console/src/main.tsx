import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ConnectionProvider } from "./connection/connection.tsx";
import "./design/tokens.css";
import "./design/base.css";
import { applyTheme } from "./design/theme.ts";
import { App } from "./shell/app.tsx";
import { ErrorBoundary } from "./shell/error-boundary.tsx";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(
  <StrictMode>
    <ErrorBoundary>
      <ConnectionProvider>
        <App />
      </ConnectionProvider>
    </ErrorBoundary>
  </StrictMode>,
);
