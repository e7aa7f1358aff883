/**
 * Waits for statements that travel together in one transaction, in the order in which they were sent. When one of them fails, those behind
 * it do too, only because of that: rejects with the error of the first, once all have ended.
 */
export async function together<Statements extends readonly unknown[] | []>(
  statements: Statements,
): Promise<{ -readonly [Index in keyof Statements]: Awaited<Statements[Index]> }> {
  const settled = await Promise.allSettled(statements);
  for (const one of settled) if (one.status === "rejected") throw one.reason;
  return await Promise.all(statements);
}
