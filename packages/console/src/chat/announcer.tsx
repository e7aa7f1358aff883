import type { Snapshot } from "@colloquy/client";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { announcementOf } from "./announcement.ts";

/** Tells who does not see the page what has happened: an answer when it is whole, not each of its words. */
export function Announcer({ snapshot }: { readonly snapshot: Snapshot | null }): ReactNode {
  const before = useRef<Snapshot | null>(null);
  const [announcement, setAnnouncement] = useState("");
  useEffect(() => {
    const told = announcementOf(before.current, snapshot);
    before.current = snapshot;
    if (told !== null) setAnnouncement(told);
  }, [snapshot]);
  return (
    <div className="visually-hidden" role="status" aria-label="News">
      {announcement}
    </div>
  );
}
