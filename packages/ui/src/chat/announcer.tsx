import type { Snapshot } from "@colloquy/client";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { announcementOf } from "./announcement.ts";

/** Announces changes to screen readers: an answer once it is complete, not word by word. */
export function Announcer({ snapshot }: { readonly snapshot: Snapshot | null }): ReactNode {
  const before = useRef<Snapshot | null>(null);
  const [announcement, setAnnouncement] = useState("");
  useEffect(() => {
    const told = announcementOf(before.current, snapshot);
    before.current = snapshot;
    if (told !== null) setAnnouncement(told);
  }, [snapshot]);
  return (
    <div className="cq-unseen" role="status" aria-label="News">
      {announcement}
    </div>
  );
}
