/** The vectors that pytest reads too. */
import { readFileSync } from "node:fs";

export function vectors<T>(name: string): readonly T[] {
  const file = new URL(`../../tests/vectors/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { vectors: T[] }).vectors;
}
