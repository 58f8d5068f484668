/** The Markdown of the guides as blocks that a page draws: headings, paragraphs, lists, tables, code. What it does not know is text. */

export type Inline =
  | { readonly as: "text" | "code" | "strong" | "em"; readonly text: string }
  | { readonly as: "link"; readonly text: string; readonly to: string };

export type Block =
  | { readonly as: "heading"; readonly level: number; readonly id: string; readonly text: string }
  | { readonly as: "paragraph"; readonly text: readonly Inline[] }
  | { readonly as: "list"; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly as: "table"; readonly head: readonly (readonly Inline[])[]; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly as: "code"; readonly language: string; readonly text: string };

const ITEM = /^(-|\d+\.) +/;

/** The blocks of a text. */
export function blocksOf(text: string): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const end = endOf(lines, at, line);
    const block = blockOf(line, lines.slice(at, end));
    if (block) blocks.push(block);
    at = end;
  }
  return blocks;
}

/** The line after the block that begins here. */
function endOf(lines: readonly string[], at: number, line: string): number {
  if (line.trim() === "" || line.startsWith("#")) return at + 1;
  const after = lines.findIndex((each, index) => index > at && (line.startsWith("```") ? each.startsWith("```") : each.trim() === "" || each.startsWith("#") || each.startsWith("```")));
  if (after < 0) return lines.length;
  return line.startsWith("```") ? after + 1 : after;
}

function blockOf(line: string, lines: readonly string[]): Block | null {
  if (line.trim() === "") return null;
  if (line.startsWith("```")) return { as: "code", language: line.slice(3).trim(), text: lines.slice(1, lines.at(-1) === "```" ? -1 : undefined).join("\n") };
  const heading = /^(#{1,6}) +(.*)$/.exec(line);
  if (heading) return { as: "heading", level: heading[1]?.length ?? 1, id: idOf(heading[2] ?? ""), text: heading[2] ?? "" };
  if (line.startsWith("|")) return tableOf(lines);
  if (ITEM.test(line)) return { as: "list", ordered: !line.startsWith("-"), items: itemsOf(lines).map(inlineOf) };
  return { as: "paragraph", text: inlineOf(lines.join(" ")) };
}

function tableOf(lines: readonly string[]): Block {
  const [head = [], , ...rows] = lines.map((line) => line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => inlineOf(cell.trim())));
  return { as: "table", head, rows };
}

/** A line that begins no item goes on with the one before. */
function itemsOf(lines: readonly string[]): readonly string[] {
  return lines.reduce<string[]>((items, line) => (ITEM.test(line) ? [...items, line.replace(ITEM, "")] : [...items.slice(0, -1), `${items.at(-1) ?? ""} ${line.trim()}`]), []);
}

/** A heading as an address: words joined by hyphens, as code hosts make it. */
export function idOf(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s-]/gu, "").trim().replace(/\s/g, "-");
}

const PIECE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** The pieces of a line: code, strong, emphasis, links, and the text between. */
export function inlineOf(text: string): readonly Inline[] {
  const pieces: Inline[] = [];
  let from = 0;
  for (const found of text.matchAll(PIECE)) {
    if (found.index > from) pieces.push({ as: "text", text: text.slice(from, found.index) });
    pieces.push(pieceOf(found));
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ as: "text", text: text.slice(from) });
  return pieces;
}

function pieceOf([, code, strong, em, label, to]: RegExpMatchArray): Inline {
  if (code !== undefined) return { as: "code", text: code };
  if (strong !== undefined) return { as: "strong", text: strong };
  return em !== undefined ? { as: "em", text: em } : { as: "link", text: label ?? "", to: to ?? "" };
}

/** Where a link of a guide leads in the console: another guide's file is its page, `#heading` a place on this one. */
export function guideHref(topic: string, to: string): string {
  const [, file, heading] = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(to) ?? [];
  if (file === undefined && heading === undefined) return to;
  return `#/help/${file ?? topic}${heading === undefined ? "" : `?at=${encodeURIComponent(heading)}`}`;
}
