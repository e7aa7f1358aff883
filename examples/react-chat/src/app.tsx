import type { Client } from "@colloquy/client";
import { useClientTool } from "@colloquy/react";
import { ChatPage } from "@colloquy/ui";
import type { ReactNode } from "react";

export function App({ client }: { readonly client: Client }): ReactNode {
  return (
    <ChatPage client={client} brand="Assistant">
      <PageTools />
    </ChatPage>
  );
}

/** The client tools of this page. The App declares them (README.md). */
function PageTools(): ReactNode {
  useClientTool("set_color_scheme", setColorScheme);
  return null;
}

/** Switches between light and dark. */
function setColorScheme({ scheme }: { readonly scheme: "light" | "dark" }): object {
  document.documentElement.style.colorScheme = scheme;
  return { scheme };
}
