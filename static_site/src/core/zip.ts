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
const ZIP64 = 0xffffffff;

/** What a user should know of this shard before sending it; nothing when it looks right. */
export async function lookAtZip(size: number, slice: Slice): Promise<readonly Warning[]> {
  if (size === 0) return [{ what: "The file is empty (0 bytes).", todo: "Zip the data again." }];
  const tail = await slice(Math.max(0, size - TAIL), size);
  const at = lastEnd(tail);
  if (at < 0) return [await notAZip(size, slice)];
  const end = new DataView(tail.buffer, tail.byteOffset + at);
  const [entries, length, offset] = [end.getUint16(10, true), end.getUint32(12, true), end.getUint32(16, true)];
  if (entries === 0) return [{ what: "The archive holds no files.", todo: "Zip the data again." }];
  if (offset === ZIP64 || length > MOST) return []; // the check after the upload reads those
  const directory = await slice(offset, offset + length);
  return verdict(entriesOf(directory));
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

interface Entry {
  readonly name: string;
  readonly encrypted: boolean;
}

function entriesOf(directory: Uint8Array): readonly Entry[] {
  const view = new DataView(directory.buffer, directory.byteOffset, directory.byteLength);
  const found: Entry[] = [];
  for (let at = 0; at + 46 <= view.byteLength && view.getUint32(at, true) === ENTRY; ) {
    const [name, extra, comment] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true), view.getUint16(at + 32, true)];
    found.push({ name: new TextDecoder().decode(directory.subarray(at + 46, at + 46 + name)), encrypted: (view.getUint16(at + 8, true) & 1) === 1 });
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
