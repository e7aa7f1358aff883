// Parses strace output of a server: file writes, syncs, and traffic with clients. strace stops a thread at
// the start and end of every call it shows, so the order of lines is a possible real order: what a thread
// does after a call follows the line that ends the call.

/** An event of a process, in order. `path` is the file's absolute path. */
export type SystemCallEvent =
  | { readonly kind: "write"; readonly path: string; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly path: string; readonly length: number }
  | { readonly kind: "sync begins"; readonly path: string; readonly thread: string }
  | { readonly kind: "sync ends"; readonly path: string; readonly thread: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "received"; readonly data: Buffer }
  | { readonly kind: "sent"; readonly data: Buffer };

/** Arguments of strace that `readSystemCalls` relies on. Strings are not truncated. */
export const STRACE_ARGUMENTS: readonly string[] = [
  "-f",
  "--seccomp-bpf",
  "-yy",
  "-s",
  "1000000",
  "-e",
  "trace=read,recvfrom,write,writev,sendto,pwrite64,pwritev,ftruncate,fsync,fdatasync,unlink,unlinkat",
];

const LINE =
  /^(?<thread>\d+)\s+(?:<\.\.\. (?<resumed>\w+) resumed>(?<after>.*)|(?<name>\w+)\((?<before>.*))$/s;
const DESCRIPTOR = /^\d+<(?<path>.*?)>(?=, |\)| <unfinished|$)/s;
const STRING = /"(?<text>(?:[^"\\]|\\.)*)"(?<cut>\.\.\.)?/gs;

/** Returns the events of a strace log, in order. Throws if a string was truncated. */
export function readSystemCalls(log: string): SystemCallEvent[] {
  const open = new Map<string, string>();
  const events: SystemCallEvent[] = [];
  for (const line of log.split("\n")) {
    const groups = LINE.exec(line)?.groups;
    if (groups === undefined) continue;
    const { thread = "", resumed, name } = groups;
    if (name !== undefined) {
      const text = groups["before"] ?? "";
      const unfinished = text.endsWith("<unfinished ...>");
      if (unfinished) open.set(thread, text);
      events.push(...begun(name, text, thread));
      if (!unfinished) events.push(...ended(name, text, text, thread));
    } else if (resumed !== undefined) {
      const before = open.get(thread) ?? "";
      open.delete(thread);
      events.push(...ended(resumed, before, groups["after"] ?? "", thread));
    }
  }
  return events;
}

/** Events at the start of a call: bytes handed over, or a sync of everything written so far. */
function begun(name: string, text: string, thread: string): SystemCallEvent[] {
  const path = DESCRIPTOR.exec(text)?.groups?.["path"];
  switch (name) {
    case "write":
    case "writev":
    case "sendto":
      return path !== undefined && isSocket(path) ? [{ kind: "sent", data: stringsOf(text) }] : [];
    case "pwrite64":
    case "pwritev": {
      const offset = / (\d+)(?:\)| <unfinished)[^"]*$/.exec(text)?.[1];
      if (path === undefined || offset === undefined) throw new Error(`Cannot parse: ${text.slice(-200)}`);
      return [{ kind: "write", path, offset: Number(offset), data: stringsOf(text) }];
    }
    case "ftruncate": {
      const length = /, (\d+)(?:\)| <unfinished)/.exec(text)?.[1];
      return path === undefined ? [] : [{ kind: "truncate", path, length: Number(length) }];
    }
    case "fsync":
    case "fdatasync":
      return path === undefined ? [] : [{ kind: "sync begins", path, thread }];
    case "unlink":
    case "unlinkat":
      return [{ kind: "remove", path: stringsOf(text).toString("utf8") }];
    default:
      return [];
  }
}

/** Events at the end of a call: received bytes, and a completed sync. */
function ended(name: string, before: string, after: string, thread: string): SystemCallEvent[] {
  const path = DESCRIPTOR.exec(before)?.groups?.["path"];
  if (path === undefined) return [];
  if (name === "read" || name === "recvfrom") {
    return isSocket(path) ? [{ kind: "received", data: stringsOf(after) }] : [];
  }
  if (name === "fsync" || name === "fdatasync") {
    return after.endsWith(" = 0") ? [{ kind: "sync ends", path, thread }] : [];
  }
  return [];
}

function isSocket(path: string): boolean {
  return path.startsWith("TCP:");
}

function stringsOf(text: string): Buffer {
  const strings = [...text.matchAll(STRING)].map(({ groups }) => {
    if (groups?.["cut"] !== undefined) throw new Error("strace truncated a string: raise -s");
    return unescape(groups?.["text"] ?? "");
  });
  return Buffer.concat(strings);
}

const NAMED: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, '"': 34, "\\": 92 };

function unescape(text: string): Buffer {
  const bytes = Buffer.alloc(text.length);
  let length = 0;
  for (let at = 0; at < text.length; length += 1) {
    const octal = text[at] === "\\" ? /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0] : undefined;
    if (octal !== undefined) {
      bytes[length] = Number.parseInt(octal, 8);
      at += 1 + octal.length;
    } else if (text[at] === "\\") {
      bytes[length] = NAMED[text[at + 1] ?? ""] ?? 0;
      at += 2;
    } else {
      bytes[length] = text.charCodeAt(at);
      at += 1;
    }
  }
  return bytes.subarray(0, length);
}
