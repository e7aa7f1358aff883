import type { ThreadEntry } from "@colloquy/react";

export interface ThreadGroup {
  readonly name: "Pinned" | "Today" | "Yesterday" | "Last seven days" | "Earlier";
  readonly threads: readonly ThreadEntry[];
}

/**
 * Groups threads: pinned threads first, then by the day of their last activity in the reader's time zone.
 * Omits empty groups.
 */
export function groupThreads(threads: readonly ThreadEntry[], now: Date): readonly ThreadGroup[] {
  const daysBefore = (days: number): number =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime();
  const [today, yesterday, week] = [daysBefore(0), daysBefore(1), daysBefore(6)];
  const nameOf = ({ pinned, updated_at }: ThreadEntry): ThreadGroup["name"] => {
    if (pinned === true) return "Pinned";
    const time = Date.parse(updated_at);
    if (time >= today) return "Today";
    if (time >= yesterday) return "Yesterday";
    return time >= week ? "Last seven days" : "Earlier";
  };
  const names = ["Pinned", "Today", "Yesterday", "Last seven days", "Earlier"] as const;
  return names
    .map((name) => ({ name, threads: threads.filter((thread) => nameOf(thread) === name) }))
    .filter((group) => group.threads.length > 0);
}
