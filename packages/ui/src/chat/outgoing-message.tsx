// A message on its way to the service. Usually it is stored before this is visible.

import { useEffect, useState, type ReactNode } from "react";
import { classes } from "../design/classes.ts";
import { SendingState, SHORT_MS } from "./sending-state.tsx";

export function OutgoingMessage({ text }: { readonly text: string }): ReactNode {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHORT_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div className="cq-message-user" role="article" aria-label="You">
      <p className={classes("cq-message-said", "cq-message-leaving")} dir="auto">
        {text}
      </p>
      <footer className="cq-message-footer">
        <SendingState />
      </footer>
    </div>
  );
}
