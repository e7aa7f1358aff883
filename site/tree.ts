// The pages of the site and their order. Other pages of docs/ are for contributors: the site links to the
// repository instead.

export interface Page {
  /** Path below docs/; generated pages are below `reference/`. */
  readonly file: string;
  readonly text: string;
}

export interface Group {
  readonly text: string;
  readonly pages: readonly Page[];
}

const page = (file: string, text: string): Page => ({ file, text });

export const TREE: readonly Group[] = [
  {
    text: "Start",
    pages: [page("index.md", "What Colloquy is"), page("guides/first-app.md", "Your first App")],
  },
  {
    text: "Guides",
    pages: [
      page("guides/application.md", "In your application"),
      page("guides/components.md", "Components"),
      page("guides/ai-sdk.md", "useChat of the AI SDK"),
      page("protocols/openai.md", "The OpenAI API"),
      page("protocols/ag-ui.md", "AG-UI"),
      page("protocols/aomi.md", "Aomi clients"),
      page("protocols/acp.md", "Editors"),
      page("protocols/mcp-server.md", "The MCP server"),
      page("guides/your-server.md", "Your server in front"),
      page("guides/embed.md", "Embed the engine"),
      page("guides/users.md", "Sign users in"),
      page("guides/wallet-sign-in.md", "Wallet sign-in"),
      page("guides/approvals.md", "Approvers"),
      page("guides/user-data.md", "Delete a user's data"),
      page("react.md", "React"),
      page("client.md", "JavaScript client"),
      page("guides/wallet.md", "Wallet tools"),
      page("guides/model-servers.md", "Model servers"),
      page("guides/long-conversations.md", "Long conversations"),
      page("console.md", "Console"),
      page("guides/write-a-plugin.md", "Write a plugin"),
      page("guides/operating.md", "Run it for others"),
      page("operations.md", "Operations"),
      page("moving.md", "Moving data"),
    ],
  },
  {
    text: "Reference",
    pages: [
      page("api.md", "HTTP interface"),
      page("reference/http.md", "HTTP operations"),
      page("configuration.md", "Configuration"),
      page("command-line.md", "Command line"),
      page("reference/command-line.md", "Commands"),
      page("reference/client.md", "Types of the client"),
      page("reference/react.md", "Types for React"),
    ],
  },
  {
    text: "Explanation",
    pages: [
      page("architecture.md", "Architecture"),
      page("durability.md", "Durability"),
      page("security.md", "Security"),
      page("performance.md", "Performance"),
      page("scaling.md", "Scaling"),
      page("comparison.md", "Comparison"),
      page("known-limits.md", "Known limits"),
    ],
  },
];

/** Pages of docs/ that stay in the repository: decisions, the contract, the specification and lists of work. */
export const NOT_ON_THE_SITE: readonly RegExp[] = [/^adr\//, /^spec\//, /^contract\.md$/, /-work\.md$/];
