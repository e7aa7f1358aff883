// Keeps the connection of a JSON response open while its answer is awaited.

/** Proxies and hosts close connections that are silent for longer. */
const INTERVAL_MS = 10_000;

/**
 * Returns `answer`, or a body if that takes longer than ten seconds: a space every ten seconds, then the text of
 * `answer`. JSON may begin with spaces. Clients notice a broken connection at once, unlike one of an event stream.
 * Call it only for answers that have the status 200 if they take so long.
 */
export async function spacedAnswer(
  answer: Promise<Response>,
): Promise<Response | ReadableStream<Uint8Array>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => void (timer = setTimeout(resolve, INTERVAL_MS, null)));
  try {
    return (await Promise.race([answer, late])) ?? spaced(answer);
  } finally {
    clearTimeout(timer);
  }
}

function spaced(answer: Promise<Response>): ReadableStream<Uint8Array> {
  const space = new TextEncoder().encode(" ");
  let timer: NodeJS.Timeout | undefined;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(space);
      timer = setInterval(() => controller.enqueue(space), INTERVAL_MS);
      const finish = async (): Promise<void> => {
        const text = await (await answer).text();
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      };
      finish()
        .catch((error: unknown) => controller.error(error))
        .finally(() => clearInterval(timer));
    },
    cancel: () => clearInterval(timer),
  });
}
