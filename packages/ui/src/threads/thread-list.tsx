import { useThreads, type ThreadEntry } from "@colloquy/react";
import { Pin, Search } from "../design/icons.tsx";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { Button } from "../design/button.tsx";
import { usePage } from "../chat/page-context.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { FoundMessages } from "./found-messages.tsx";
import { groupThreads, type ThreadGroup } from "./thread-groups.ts";
import { ThreadItem } from "./thread-item.tsx";
import { isFurtherSearched, matchingThreads, SEARCHED_AT_MOST } from "./thread-search.ts";

/** The user's conversations, with search, pinning, renaming and deletion. */
export function ThreadList({ current }: { readonly current: string | null }): ReactNode {
  const { threads, rename, remove } = useThreads();
  const { address } = usePage();
  const { pinning, failure, togglePin } = usePinning();
  const [query, setQuery] = useState("");
  const isSearched = query.trim() !== "";
  useOlderThreads(isSearched);
  const [leaving, setLeaving] = useState<ThreadEntry | null>(null);
  const found = useMemo(() => matchingThreads(threads, query), [threads, query]);
  // Groups change at midnight. It is enough to show that at the next render.
  const groups = useMemo(() => groupThreads(found, new Date()), [found]);
  return (
    <div className="cq-thread-list">
      <label className="cq-thread-list-search">
        <Search size={15} />
        <input
          type="search"
          data-shortcut="search"
          aria-label="Search conversations"
          placeholder="Search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </label>
      <p className="cq-unseen" role="status">
        {isSearched && (found.length === 1 ? "1 conversation" : `${found.length} conversations`)}
      </p>
      {failure !== null && <FailedPin {...failure} />}
      <div className="cq-thread-list-scrolled">
        {groups.map(({ name, threads: members }) => (
          <section key={name} aria-label={name}>
            <GroupHeading name={name} />
            <ul className="cq-thread-list-items">
              {members.map((thread) => (
                <ThreadItem
                  key={thread.session_id}
                  thread={thread}
                  isCurrent={thread.session_id === current}
                  isPinning={pinning.has(thread.session_id)}
                  onPin={(pinned) => void togglePin(pinned)}
                  onRename={rename}
                  onDelete={setLeaving}
                />
              ))}
            </ul>
          </section>
        ))}
        <ListState isEmpty={found.length === 0} isSearched={isSearched} />
        {isSearched && <FoundMessages query={query} />}
      </div>
      {leaving !== null && (
        <DeleteDialog
          title={leaving.title}
          onClose={() => setLeaving(null)}
          onDelete={async () => {
            await remove(leaving.session_id);
            if (leaving.session_id === current) address.open(null);
          }}
        />
      )}
    </div>
  );
}

function GroupHeading({ name }: Pick<ThreadGroup, "name">): ReactNode {
  return (
    <h2 className="cq-thread-list-group">
      {name === "Pinned" && <Pin size={12} />}
      {name}
    </h2>
  );
}

interface PinFailure {
  readonly title: string;
  /** True if the thread is still pinned. */
  readonly isPinned: boolean;
  readonly reason: string;
}

function FailedPin({ title, isPinned, reason }: PinFailure): ReactNode {
  return (
    <p className="cq-thread-list-failure" role="alert">
      “<bdi>{title}</bdi>” was not {isPinned ? "unpinned" : "pinned"}. {reason}
    </p>
  );
}

/**
 * Pins and unpins threads, with at most one request per thread at a time. Returns the threads with a pending
 * request, and the last failure.
 */
function usePinning() {
  const { pin, unpin } = useThreads();
  const [failure, setFailure] = useState<PinFailure | null>(null);
  const [pinning, setPinning] = useState<ReadonlySet<string>>(new Set());
  const togglePin = async ({ session_id: id, title, pinned = false }: ThreadEntry): Promise<void> => {
    if (pinning.has(id)) return;
    setPinning((others) => new Set(others).add(id));
    setFailure(null);
    try {
      await (pinned ? unpin : pin)(id);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "Try again.";
      setFailure({ title, isPinned: pinned, reason });
    } finally {
      setPinning((ids) => new Set([...ids].filter((other) => other !== id)));
    }
  };
  return { pinning, failure, togglePin };
}

/** Loads more pages while searching, because matches may be on pages that are not loaded. */
function useOlderThreads(isSearched: boolean): void {
  const threads = useThreads();
  const { isLoading, loadMore } = threads;
  const isWanted = isSearched && isFurtherSearched(threads);
  useEffect(() => {
    if (isWanted && !isLoading) void loadMore();
  }, [isWanted, isLoading, loadMore]);
}

/** State of the list, and a way to load more of it. */
function ListState({
  isEmpty,
  isSearched,
}: {
  readonly isEmpty: boolean;
  readonly isSearched: boolean;
}): ReactNode {
  const { isLoading, error, hasMore, refresh, loadMore } = useThreads();
  if (isLoading) {
    return <p className="cq-thread-list-status">{isSearched ? "Looking through older ones…" : "Loading…"}</p>;
  }
  if (error !== null) {
    return (
      <div className="cq-thread-list-status" role="alert">
        <p>The list could not be loaded. {error.message}</p>
        <Button size="small" onClick={() => void refresh()}>
          Try again
        </Button>
      </div>
    );
  }
  return (
    <>
      {isEmpty && (
        <p className="cq-thread-list-status">
          {isSearched ? notFoundText(hasMore) : "Your conversations will be listed here."}
        </p>
      )}
      {hasMore && (
        <Button look="quiet" size="small" onClick={() => void loadMore()}>
          Show older ones
        </Button>
      )}
    </>
  );
}

function notFoundText(hasMore: boolean): string {
  if (!hasMore) return "No conversation has that in its title.";
  return `None of the newest ${SEARCHED_AT_MOST.toLocaleString()} conversations has that in its title.`;
}
