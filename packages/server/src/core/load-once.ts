/**
 * Returns a function that calls `load` once and shares the result. Waiting callers share a failure too, which is not kept: the
 * next caller tries again.
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
