// User-facing messages for file-system errors.

/** Problems by errno(3) code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  ENOTDIR: "it, or something on the way to it, is a file and no directory",
  EEXIST: "there is a file of that name",
  EISDIR: "it is a directory and no file",
  EACCES: "this user has no right to it",
  EPERM: "this user has no right to it",
  EROFS: "its disk takes no writes",
  ENOSPC: "its disk is full",
  EDQUOT: "this user's share of its disk is full",
  ELOOP: "its links lead round in a circle",
  ENAMETOOLONG: "its name is too long",
};

/** Returns a sentence that names the path (`place` ends in it) and its problem, followed by `advice`. */
export function describeFileError(place: string, error: unknown, advice: string): string {
  return `${place} cannot be used: ${reasonOf(error)}. ${advice}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const reason = "code" in error ? REASONS[String(error.code)] : undefined;
  return reason ?? error.message.replace(/\.$/, "");
}
