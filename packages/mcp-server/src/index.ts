// Public API: the plugin.

import { mcpServer } from "./plugin.ts";

export default mcpServer;
