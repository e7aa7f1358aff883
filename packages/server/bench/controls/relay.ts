// The least that text read on another node can cost: one process publishes pieces, the other receives them and
// writes each to its own socket. Both ends have this role.

import { once } from "node:events";
import { connect as connectSocket, createServer, type AddressInfo, type Socket } from "node:net";
import { connect } from "@nats-io/transport-node";
import { serveRole } from "../role.ts";

export interface RelayInput {
  readonly natsUrl: string;
}

const NAME = "relay";
/** As often as the bench's model says a piece. */
const EVERY_MS = 50;
/** As the model's piece in an event. */
const piece = (text: string): string => `event: text_delta\ndata: {"text":${JSON.stringify(text)}}\n\n`;

async function build({ natsUrl }: RelayInput) {
  const connection = await connect({ servers: natsUrl });
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  let timer: NodeJS.Timeout | undefined;
  const handlers = {
    /** Receives pieces, and writes each to the socket of its stream. Returns the port for the sockets. */
    receive: async (): Promise<number> => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      connection.subscribe(`${NAME}.*`, {
        callback: (_error, message) => {
          const stream = Number(message.subject.slice(NAME.length + 1));
          sockets[stream]?.write(piece(message.string()));
        },
      });
      await connection.flush();
      return (server.address() as AddressInfo).port;
    },
    /** Opens a socket for each stream and drops what it receives. */
    read: async ({ port, streams }: { readonly port: number; readonly streams: number }): Promise<void> => {
      for (let stream = 0; stream < streams; stream += 1) {
        const socket = connectSocket(port, "127.0.0.1").resume();
        sockets.push(socket);
        await once(socket, "connect");
      }
    },
    publish: ({ streams }: { readonly streams: number }): void => {
      timer = setInterval(() => {
        for (let stream = 0; stream < streams; stream += 1)
          connection.publish(`${NAME}.${stream}`, "another piece ");
      }, EVERY_MS);
    },
    /** CPU milliseconds used by this process. */
    processorMs: (): number => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
  };
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    server.close();
    await connection.close();
  };
  return { handlers, stop };
}

export type RelayHandlers = Awaited<ReturnType<typeof build>>["handlers"];

export async function startRelayControl(input: RelayInput): Promise<void> {
  const { handlers, stop } = await build(input);
  serveRole(handlers, stop);
}
