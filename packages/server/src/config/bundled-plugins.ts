// Plugins that the server offers without an entry in `plugins`.

import { directory } from "@colloquy/engine/internal/files/directory";
import { sqlite } from "@colloquy/engine/internal/store/sqlite/plugin";
import agUi from "@colloquy/ag-ui";
import aomi from "@colloquy/aomi";
import mcp from "@colloquy/mcp";
import mcpServer from "@colloquy/mcp-server";
import nats from "@colloquy/nats";
import openai from "@colloquy/openai";
import openapi from "@colloquy/openapi";
import postgres from "@colloquy/postgres";
import s3 from "@colloquy/s3";

export const BUNDLED_PLUGINS = [
  mcp,
  openapi,
  sqlite,
  postgres,
  directory,
  s3,
  nats,
  openai,
  agUi,
  aomi,
  mcpServer,
] as const;
