import { storeFull, storeUnavailable } from "../store/unavailable.ts";

/** Error codes of a full disk or an exceeded disk quota. */
const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);
/** File-system error codes that an operator must resolve. */
const BROKEN: ReadonlySet<unknown> = new Set([
  "EACCES",
  "EEXIST",
  "EIO",
  "EMFILE",
  "ENFILE",
  "ENOTDIR",
  "EPERM",
  "EROFS",
]);

/** Returns the error for the caller of a file store; errors that are not the disk's unchanged. */
export function diskFailure(error: unknown): unknown {
  const code = errorCode(error);
  if (FULL.has(code)) return storeFull(error);
  return BROKEN.has(code) ? storeUnavailable(error) : error;
}

export function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
