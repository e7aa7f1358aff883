// Connections through a proxy: a tunnel (CONNECT), with TLS to the server inside.

import { request as requestPlain } from "node:http";
import { request as requestEncrypted } from "node:https";
import { buildConnector } from "undici";
import { ProxyFailure } from "../../core/proxies.ts";

const CONNECT_MS = 10_000;

/** Returns a connector for https through the proxy. It fails with `ProxyFailure` if the proxy does. */
export function createTunnel(proxy: URL, certificates?: readonly string[]): buildConnector.connector {
  const secure = buildConnector({
    allowH2: false,
    ...(certificates !== undefined && { ca: [...certificates] }),
  });
  const headers = authorizationOf(proxy);
  return (options, callback) => {
    const host = options.hostname.includes(":")
      ? `[${options.hostname.replace(/^\[|\]$/g, "")}]`
      : options.hostname;
    const authority = `${host}:${options.port === "" ? 443 : options.port}`;
    const request = (proxy.protocol === "https:" ? requestEncrypted : requestPlain)({
      host: proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: proxy.port === "" ? (proxy.protocol === "https:" ? 443 : 80) : proxy.port,
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...headers },
      agent: false,
      timeout: CONNECT_MS,
    });
    request.once("connect", (response, socket) => {
      socket.setTimeout(0);
      if (response.statusCode === 200) return secure({ ...options, httpSocket: socket }, callback);
      socket.destroy();
      callback(new ProxyFailure(proxy, response.statusCode ?? 0), null);
    });
    request.once("timeout", () => request.destroy(new ProxyFailure(proxy, "ETIMEDOUT")));
    request.once("error", (error) => callback(asProxyFailure(proxy, error), null));
    request.end();
  };
}

/** Returns a connector to the proxy itself, whose errors are `ProxyFailure`. */
export function connectTo(proxy: URL): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, timeout: CONNECT_MS });
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[0] === null) callback(...result);
      else callback(asProxyFailure(proxy, result[0]), null);
    });
}

function asProxyFailure(proxy: URL, error: NodeJS.ErrnoException): ProxyFailure {
  if (error instanceof ProxyFailure) return error;
  return new ProxyFailure(proxy, error.code ?? "ECONNRESET", { cause: error });
}

function authorizationOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}
