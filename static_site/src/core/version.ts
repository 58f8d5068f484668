/** Which build of the console a page is. */

/** The address of the module a console's page starts with, which carries a hash of the build; null when the page has none. */
export function entryOf(html: string): string | null {
  const script = /<script\b[^>]*\btype="module"[^>]*>/i.exec(html)?.[0] ?? "";
  return /\bsrc="([^"]+)"/i.exec(script)?.[1] ?? null;
}
