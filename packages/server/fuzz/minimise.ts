// Shortens a failing request as far as it still fails, so that the cause is visible.

/** Removes ever smaller pieces of `bytes` while `fails` returns true. Calls it at most `attempts` times. */
export async function minimise(
  bytes: Buffer,
  fails: (candidate: Buffer) => Promise<boolean>,
  attempts: number,
): Promise<Buffer> {
  let smallest = bytes;
  let left = attempts;
  for (
    let size = Math.ceil(bytes.length / 2);
    size >= 1 && left > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < smallest.length && left > 0; ) {
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      left -= 1;
      if (await fails(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}
