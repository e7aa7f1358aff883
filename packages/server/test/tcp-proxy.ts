export { type FromClient, type Link, TcpProxy } from "@colloquy/testing/internal/tcp-proxy";
