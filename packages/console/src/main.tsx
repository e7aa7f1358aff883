import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ConnectionProvider } from "./connection/connection.tsx";
import "@colloquy/ui/styles.css";
import "./design/base.css";
import { ErrorBoundary, tabStorage } from "@colloquy/ui/parts";
import { applyTheme } from "./design/theme.ts";
import { App } from "./shell/app.tsx";
import { takeReturned } from "./sign-in/requests.ts";

applyTheme();
const returned = takeReturned(window, tabStorage(window));
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(
  <StrictMode>
    <ErrorBoundary>
      <ConnectionProvider returned={returned}>
        <App />
      </ConnectionProvider>
    </ErrorBoundary>
  </StrictMode>,
);
