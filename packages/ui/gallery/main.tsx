// Shows every component in every state, and with `?page` a whole page. There is no service, so requests of the
// components fail.

import { createClient } from "@colloquy/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ChatPage, ChatProvider } from "../src/index.ts";
import { SessionIdContext } from "../src/chat/session-id.tsx";
import "../src/styles.css";
import "./gallery.css";
import { STATES } from "./states.tsx";

const client = createClient({
  baseUrl: "http://127.0.0.1",
  fetch: () => Promise.reject(new TypeError("The gallery has no service")),
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
const greeting = { Welcome: () => <h2>How can we help you?</h2> };
const isPage = new URLSearchParams(location.search).has("page");
createRoot(root).render(
  <StrictMode>
    {isPage ? (
      <div className="page">
        <ChatPage client={client} brand="Harbour" components={greeting} />
      </div>
    ) : (
      <ChatProvider client={client}>
        <SessionIdContext value={client.session().id}>
          <main>
            <h1>Gallery</h1>
            {STATES.map(({ name, content }) => (
              <section key={name} aria-label={name} className="state">
                <h2>{name}</h2>
                {content}
              </section>
            ))}
          </main>
        </SessionIdContext>
      </ChatProvider>
    )}
  </StrictMode>,
);
