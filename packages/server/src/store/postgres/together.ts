import { isAftermath } from "./failures.ts";

/**
 * Waits for statements that travel together in one transaction. When one of them fails, those behind it do too, only because of that:
 * rejects with the error that was the first, once all have ended.
 */
export async function together<Statements extends readonly unknown[] | []>(
  statements: Statements,
): Promise<{ -readonly [Index in keyof Statements]: Awaited<Statements[Index]> }> {
  try {
    return await Promise.all(statements);
  } catch (error) {
    const settled = await Promise.allSettled(statements);
    const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    throw errors.find((one) => !isAftermath(one)) ?? error;
  }
}
