/** Where a file goes that is dropped onto a workspace, and what a user should know before it is sent. */

import type { Warning } from "./zip";

const FOLDERS = ["scripts", "configs", "requirements", "shards", "model"];
const FOLDER_BY_ENDING: Readonly<Record<string, string>> = { py: "scripts", json: "configs", txt: "requirements", zip: "shards", pt: "model", pth: "model", safetensors: "model" };

export interface Target {
  /** Null: no folder is meant for it, and it is left out. */
  readonly folder: string | null;
  /** Its path in that folder. */
  readonly name: string;
}

/** The folder of a workspace a dropped file belongs into, by its ending; null when none is meant for it. */
export function folderFor(name: string): string | null {
  return FOLDER_BY_ENDING[endingOf(name)] ?? null;
}

/** Where a file goes: onto the card it was dropped on, else into the folder of a job it came in, else by its ending. */
export function targetOf(path: string, card: string | null): Target {
  const parts = path.split("/").filter(Boolean);
  const name = parts.at(-1) ?? path;
  if (parts.some((part) => part.startsWith(".") || part === "__pycache__" || part === "__MACOSX")) return { folder: null, name };
  if (card !== null) return { folder: card, name };
  const at = parts.slice(0, -1).findIndex((part) => FOLDERS.includes(part));
  return at < 0 ? { folder: folderFor(name), name } : { folder: parts[at] ?? null, name: parts.slice(at + 1).join("/") };
}

/** What is odd about a file of this name in that folder. */
export function misfit(folder: string, name: string): Warning | null {
  const ending = endingOf(name);
  if (folder === "shards" && ending !== "zip") return { what: "Only .zip files count as shards; no worker will get this one.", todo: "Zip it first." };
  if (folder === "model" && ending !== "pt") return { what: "A job starts from a .pt file; this one will not be used.", todo: "" };
  if (folder === "scripts" && ending !== "py") return { what: "This is no Python file.", todo: folderFor(name) ? `It looks as if it belongs into ${folderFor(name)}/.` : "" };
  if (folder === "requirements" && name !== "requirements.txt") return { what: "Workers install requirements.txt only.", todo: "Rename the file." };
  if (folder === "configs" && ending !== "json") return { what: "This is no JSON file; no job reads it.", todo: "" };
  return null;
}

function endingOf(name: string): string {
  return name.includes(".") ? (name.split(".").at(-1) ?? "").toLowerCase() : "";
}

const UNEVEN = 4;

/** A word about shards of very unequal size; null when they are alike enough. */
export function uneven(sizes: readonly number[]): number | null {
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  return sizes.length > 1 && least > 0 && most / least >= UNEVEN ? Math.round(most / least) : null;
}
