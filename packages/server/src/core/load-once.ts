/**
 * Calls `load` when somebody asks first, and answers all who ask with what it came to. A failure (a file that could not be opened at that
 * moment) is told to those who waited for it and not kept: the next one who asks tries again.
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
