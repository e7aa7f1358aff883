/**
 * Returns a function that calls `load` once and shares the result. Concurrent callers share a failure too,
 * which is not cached: the next caller retries.
 */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | null = null;
  return () => {
    if (loading !== null) return loading;
    const begun = load();
    loading = begun;
    begun.catch(() => (loading = null));
    return begun;
  };
}
