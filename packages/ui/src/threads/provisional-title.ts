/** Maximum characters of a provisional title. */
const MAX_LENGTH = 60;
/** Maximum characters of the message to read, because the patterns take quadratic time. */
const MAX_READ = 400;

/** Returns the first line of a message without Markdown, as the title until the service has generated one. */
export function provisionalTitle(message: string): string {
  const line = message.trimStart().slice(0, MAX_READ).split("\n", 1)[0] ?? "";
  const bare = line
    .replace(/^(?:#{1,6}|>)\s+/, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/(\*\*|~~|`+)(.+?)\1/g, "$2");
  return (bare.trim() || line).slice(0, MAX_LENGTH);
}
