/** Log segments as lines: one JSON object a line, as the workers ship them. */

export interface LogLine {
  readonly source: string;
  readonly at: string;
  readonly level: string;
  readonly text: string;
}

/** The lines of one segment; a line that is no JSON is shown as it is. */
export function linesOf(source: string, ndjson: string): readonly LogLine[] {
  return ndjson
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => lineOf(source, line));
}

function lineOf(source: string, line: string): LogLine {
  try {
    const found = JSON.parse(line) as { t?: unknown; level?: unknown; text?: unknown };
    if (typeof found.text !== "string") throw new Error("no text");
    return { source, at: typeof found.t === "string" ? found.t : "", level: typeof found.level === "string" ? found.level : "", text: printable(found.text) };
  } catch {
    return { source, at: "", level: "", text: printable(line) };
  }
}

/** A text without colour codes and control characters; of a line rewritten by carriage returns only its last state. */
export function printable(text: string): string {
  const rewritten = text.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  // eslint-disable-next-line no-control-regex
  return rewritten.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

/** Lines of several sources in the order of their times; lines of one source keep their order. */
export function merged(sources: readonly (readonly LogLine[])[]): readonly LogLine[] {
  return sources
    .flat()
    .map((line, index) => ({ line, index }))
    .sort((a, b) => (a.line.at < b.line.at ? -1 : a.line.at > b.line.at ? 1 : a.index - b.index))
    .map(({ line }) => line);
}

/** How a line of this level is marked; the levels are what Python's logging calls them, in any case. */
export function weight(level: string): "bad" | "warn" | "" {
  const word = level.toLowerCase();
  if (word === "error" || word === "critical") return "bad";
  return word === "warning" ? "warn" : "";
}

interface Piece {
  readonly source: string;
  readonly lines: number;
}

/** Of pieces in their order the newest ones, so many that each source has `least` lines, if it has; in their order again. */
export function newestPieces<P extends Piece>(pieces: readonly P[], least: number): readonly P[] {
  const held = new Map<string, number>();
  const kept = [...pieces].reverse().filter(({ source, lines }) => {
    const before = held.get(source) ?? 0;
    held.set(source, before + lines);
    return before < least;
  });
  return kept.reverse();
}
