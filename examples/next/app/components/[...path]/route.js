import { readFile } from "node:fs/promises";
import { extname, join, resolve, sep } from "node:path";

const TYPES = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8" };

/** The page's components: `<colloquy-chat>` and its styles. */
export async function GET(_request, { params }) {
  const { COMPONENTS = "../../packages/ui/dist" } = process.env;
  const folder = resolve(/* turbopackIgnore: true */ COMPONENTS);
  const file = join(folder, ...(await params).path);
  const type = TYPES[extname(file)];
  if (type === undefined || !file.startsWith(folder + sep)) return new Response(null, { status: 404 });
  const bytes = await readFile(file).catch(() => null);
  if (bytes === null) return new Response(null, { status: 404 });
  return new Response(bytes, { headers: { "Content-Type": type } });
}
