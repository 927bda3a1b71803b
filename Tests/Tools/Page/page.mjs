// The modules of the page that need no document.

import { readFile } from "node:fs/promises";

const folder = new URL("../../../Sources/BLECommand/Web/Page/", import.meta.url);

/** Imports a module of the page. Node takes a file whose name ends in .js for another kind of module. */
export async function pageModule(name) {
  const source = await readFile(new URL(name, folder), "utf8");
  return import(`data:text/javascript,${encodeURIComponent(source)}`);
}
