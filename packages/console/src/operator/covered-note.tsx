import type { AdminUsage } from "@colloquy/client/admin";
import type { ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { countText } from "./quantities.ts";
import styles from "./operator.module.css";

/** A note for reports that omit the oldest turns. */
export function CoveredNote({
  report: { covered_from, turns_read },
}: {
  readonly report: Pick<AdminUsage, "covered_from" | "turns_read">;
}): ReactNode {
  if (covered_from === null) return null;
  return (
    <p className={styles["notice"]}>
      There were more turns than one report reads: these are the newest {countText(turns_read)}, from{" "}
      <Moment at={covered_from} /> on.
    </p>
  );
}
