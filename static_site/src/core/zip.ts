/** A look at a zip before it is sent: its directory is read from the file's end, nothing is unpacked. */

export interface Warning {
  readonly what: string;
  readonly todo: string;
}

type Slice = (start: number, end: number) => Promise<Uint8Array>;

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const TAIL = 65_557; // the longest comment and the end record
const MOST = 64 * 2 ** 20;
const LOCATOR = 0x07064b50; // of the larger end record that a zip64 has before the plain one
const LARGE = 0xffffffff;
const MANY = 0xffff;

/** What a user should know of this shard before sending it; nothing when it looks right. */
export async function lookAtZip(size: number, slice: Slice): Promise<readonly Warning[]> {
  if (size === 0) return [{ what: "The file is empty (0 bytes).", todo: "Zip the data again." }];
  const end = await endOf(size, slice);
  if (!end) return [await notAZip(size, slice)];
  if (end.entries === 0) return [{ what: "The archive holds no files.", todo: "Zip the data again." }];
  if (end.length > MOST) return []; // the check after the upload reads those
  return verdict(entriesOf(await directoryOf(size, slice, end)));
}

/** The entries of a zip as its directory has them; null when it is none, or its directory is too long to be read here. */
export async function listZip(size: number, slice: Slice): Promise<readonly Entry[] | null> {
  const end = await endOf(size, slice);
  return end && end.length <= MOST ? entriesOf(await directoryOf(size, slice, end)) : null;
}

/** Where the directory lies, and the file's last bytes, which often hold all of it. */
interface End {
  readonly entries: number;
  readonly length: number;
  readonly offset: number;
  readonly tail: Uint8Array;
}

async function endOf(size: number, slice: Slice): Promise<End | null> {
  const tail = await slice(Math.max(0, size - TAIL), size);
  const at = lastEnd(tail);
  if (at < 0) return null;
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  const [entries, length, offset] = [view.getUint16(at + 10, true), view.getUint32(at + 12, true), view.getUint32(at + 16, true)];
  if (offset !== LARGE && length !== LARGE && entries !== MANY) return { entries, length, offset, tail };
  if (at < 20 || view.getUint32(at - 20, true) !== LOCATOR) return { entries, length: Infinity, offset, tail };
  const where = Number(view.getBigUint64(at - 12, true));
  const record = new DataView((await slice(where, where + 56)).slice().buffer);
  if (record.byteLength < 56) return null;
  const [large, long, far] = [32, 40, 48].map((place) => Number(record.getBigUint64(place, true))) as [number, number, number];
  return { entries: large, length: long, offset: far, tail };
}

async function directoryOf(size: number, slice: Slice, { offset, length, tail }: End): Promise<Uint8Array> {
  const start = offset - (size - tail.length);
  return start >= 0 ? tail.subarray(start, start + length) : slice(offset, offset + length);
}

async function notAZip(size: number, slice: Slice): Promise<Warning> {
  const head = new TextDecoder("latin1").decode(await slice(0, Math.min(size, 8)));
  const kind = [
    ["Rar!", "a RAR archive"],
    ["7z\xbc\xaf", "a 7z archive"],
    ["\x1f\x8b", "a gzip file"],
    ["<", "a web page"],
    ["PK\x03\x04", "the beginning of a zip: the file was cut short"],
  ].find(([start]) => head.startsWith(start ?? ""))?.[1];
  return { what: kind ? `This is not a zip but ${kind}.` : "This is not a zip.", todo: "Make a .zip of the data." };
}

function lastEnd(tail: Uint8Array): number {
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  for (let at = tail.byteLength - 22; at >= 0; at -= 1) if (view.getUint32(at, true) === END) return at;
  return -1;
}

export interface Entry {
  readonly name: string;
  readonly encrypted: boolean;
  /** Bytes unpacked; null where only the zip64 field of the entry tells. */
  readonly size: number | null;
}

function entriesOf(directory: Uint8Array): readonly Entry[] {
  const view = new DataView(directory.buffer, directory.byteOffset, directory.byteLength);
  const found: Entry[] = [];
  for (let at = 0; at + 46 <= view.byteLength && view.getUint32(at, true) === ENTRY; ) {
    const unpacked = view.getUint32(at + 24, true);
    const [name, extra, comment] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true), view.getUint16(at + 32, true)];
    found.push({ name: new TextDecoder().decode(directory.subarray(at + 46, at + 46 + name)), encrypted: (view.getUint16(at + 8, true) & 1) === 1, size: unpacked === LARGE ? null : unpacked });
    at += 46 + name + extra + comment;
  }
  return found;
}

function verdict(entries: readonly Entry[]): readonly Warning[] {
  const files = entries.filter(({ name }) => !name.endsWith("/"));
  const junk = files.filter(({ name }) => name.startsWith("__MACOSX/") || /(^|\/)(\.DS_Store|Thumbs\.db|\._[^/]*)$/.test(name));
  const data = files.filter((file) => !junk.includes(file));
  const warnings: Warning[] = [];
  if (!data.length) return [{ what: "The archive holds no files of yours.", todo: "Zip the data again." }];
  if (data.some(({ encrypted }) => encrypted)) warnings.push({ what: "The archive is encrypted; no worker could open it.", todo: "Zip the data without a password." });
  const tops = new Set(data.map(({ name }) => (name.includes("/") ? (name.split("/")[0] ?? "") : "")));
  const [top = ""] = tops;
  if (tops.size === 1 && top && data.every(({ name }) => name.split("/").length > 2)) {
    warnings.push({ what: `Everything lies in one folder, ${top}/; data_root will hold only that folder.`, todo: `Zip what is inside ${top}/, unless your code expects it.` });
  }
  if (junk.length) warnings.push({ what: `${junk.length} of ${files.length} entries are left by the Mac's Finder or Windows; workers skip them.`, todo: "" });
  return warnings;
}
