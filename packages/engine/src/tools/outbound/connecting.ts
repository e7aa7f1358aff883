// Connects to checked addresses. A host name is resolved once, here; every address is checked, and the
// connection goes to one of them. There is no second resolution that could return another address (DNS
// rebinding).

import { lookup as lookUpAddress } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { NO_PROXIES, type Proxies } from "../../core/proxies.ts";
import { addressKind, type AddressKind } from "./address-kind.ts";
import { OutboundError } from "./outbound-error.ts";
import { proxyFor } from "./proxy-for.ts";
import { createTunnel } from "./proxy-tunnel.ts";

/** Resolves a host to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface ConnectionParts {
  readonly resolve?: Resolve;
  readonly kindOf?: (address: string) => AddressKind;
  /** Proxies for https; none when absent. */
  readonly proxies?: Proxies;
  /** Certificates (PEM) to trust in addition to those of the platform. */
  readonly certificates?: readonly string[];
}

/** Agents for requests to public addresses only, and for requests to configured servers. */
export interface Agents {
  readonly publicOnly: Agent;
  readonly configured: Agent;
}

/** `null` if a connection is allowed; otherwise the reason, as the end of "X was refused: its address …". */
type Reach = Readonly<Record<AddressKind, string | null>>;

const publicReach: Reach = {
  public: null,
  translated_public: "is an IPv4 address in another notation",
  loopback: "is this machine itself",
  private: "is in a private network",
  link_local: "is on the local link",
  metadata: "is a metadata service of a cloud",
  carrier: "is an IPv4 address in another notation",
  special: "is no address of a host",
};

/**
 * Addresses of configured servers. A configured name may resolve to a private address, but never to the
 * metadata service of a cloud.
 */
const configuredReach: Reach = {
  ...publicReach,
  translated_public: null,
  loopback: null,
  private: null,
};

const unencryptedReach: Reach = {
  ...configuredReach,
  public: "is public, and requests to it need https",
  translated_public: "is public, and requests to it need https",
};

export function createAgents(parts: ConnectionParts): Agents {
  const refused = (): never => {
    throw new TypeError("A request to a public address must be encrypted.");
  };
  const agent = (plain: buildConnector.connector, encrypted: Reach): Agent => {
    const direct = createConnector(encrypted, parts);
    const secure: buildConnector.connector = (options, callback) => {
      const proxy = proxyFor(new URL(`https://${options.host}`), parts.proxies ?? NO_PROXIES);
      const connect = proxy === null ? direct : createProxyConnector(proxy, encrypted, parts);
      connect(options, callback);
    };
    return new Agent({
      connect: (options, callback) => (options.protocol === "https:" ? secure : plain)(options, callback),
      // The caller limits the duration of a request, on the service's clock.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: 60_000,
    });
  };
  return {
    publicOnly: agent(refused, publicReach),
    configured: agent(createConnector(unencryptedReach, parts), configuredReach),
  };
}

/**
 * Connects through a proxy, which resolves the name: only an address in the URL can be checked here. Requests over
 * http never use a proxy, because they may only go to private addresses, which the guard must see.
 */
function createProxyConnector(
  proxy: URL,
  reach: Reach,
  { kindOf = addressKind, certificates }: ConnectionParts,
): buildConnector.connector {
  const tunnel = createTunnel(proxy, certificates);
  return (options, callback) => {
    const host = options.hostname;
    const reason = isIP(host) === 0 ? null : reach[kindOf(host)];
    if (reason === null) tunnel(options, callback);
    else callback(refusedAddress(host, reason), null);
  };
}

function refusedAddress(host: string, reason: string): OutboundError {
  return new OutboundError("refused", `The request to ${host} was refused: its address ${reason}.`);
}

function createConnector(reach: Reach, parts: ConnectionParts): buildConnector.connector {
  const { resolve = resolveWithSystem, kindOf = addressKind, certificates } = parts;
  const check = (host: string, addresses: readonly string[]): void => {
    for (const address of addresses) {
      const reason = reach[kindOf(address)];
      if (reason !== null) throw refusedAddress(host, reason);
    }
  };
  const lookup: LookupFunction = (hostname, options, callback) => {
    checkedAddresses(hostname).then(
      (found) => {
        if (options.all === true) callback(null, found);
        else callback(null, found[0]?.address ?? "", found[0]?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
  const checkedAddresses = async (hostname: string) => {
    const addresses = await resolve(hostname);
    if (addresses.length === 0) {
      throw new OutboundError("unreachable", `${hostname} cannot be reached: it has no address.`);
    }
    check(hostname, addresses);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  const connect = buildConnector({
    lookup,
    allowH2: false,
    ...(certificates !== undefined && { ca: [...certificates] }),
  });
  return (options, callback) => {
    const host = options.hostname;
    try {
      // `connect` does not call `lookup` for an IP address in the URL.
      if (isIP(host) !== 0) check(host, [host]);
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    connect(options, callback);
  };
}

async function resolveWithSystem(hostname: string): Promise<readonly string[]> {
  const found = await lookUpAddress(hostname, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}
