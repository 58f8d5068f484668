import { describe, expect, it } from "vitest";
import { listZip, lookAtZip } from "../src/core/zip";

interface Member {
  name: string;
  encrypted?: boolean;
}

/** A zip's directory over no contents: enough for what is looked at. */
function zip(members: readonly Member[], over: { offset?: number; comment?: string } = {}): Uint8Array {
  const parts = members.map(({ name, encrypted }) => {
    const bytes = new TextEncoder().encode(name);
    const entry = new Uint8Array(46 + bytes.length);
    const view = new DataView(entry.buffer);
    view.setUint32(0, 0x02014b50, true);
    view.setUint16(8, encrypted ? 1 : 0, true);
    view.setUint16(28, bytes.length, true);
    entry.set(bytes, 46);
    return entry;
  });
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const comment = new TextEncoder().encode(over.comment ?? "");
  const end = new Uint8Array(22 + comment.length);
  const view = new DataView(end.buffer);
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(10, members.length, true);
  view.setUint32(12, length, true);
  view.setUint32(16, over.offset ?? 0, true);
  end.set(comment, 22);
  return new Uint8Array([...parts.flatMap((part) => [...part]), ...end]);
}

async function look(bytes: Uint8Array): Promise<string[]> {
  const warnings = await lookAtZip(bytes.length, async (start, end) => bytes.slice(start, end));
  return warnings.map(({ what }) => what);
}

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("a look at a zip", () => {
  it.each([[[{ name: "images/a.png" }, { name: "labels/a.png" }]], [[{ name: "rows.npy" }]], [[{ name: "train/a.csv" }, { name: "train/" }]]])("says nothing of a good one: %j", async (members) => {
    expect(await look(zip(members))).toEqual([]);
  });

  it.each([
    ["", "empty (0 bytes)"],
    ["Rar!\x1a\x07\x01\x00 and so on", "a RAR archive"],
    ["7z\xbc\xaf\x27\x1c and so on", "a 7z archive"],
    ["\x1f\x8b\x08 and so on", "a gzip file"],
    ["<!doctype html>", "a web page"],
    ["PK\x03\x04 and then nothing", "cut short"],
    ["just words", "This is not a zip."],
  ])("tells what %j is", async (text, what) => {
    expect((await look(bytes(text)))[0]).toContain(what);
  });

  it("notices an archive without files", async () => {
    expect(await look(zip([]))).toEqual(["The archive holds no files."]);
    expect(await look(zip([{ name: "images/" }]))).toEqual(["The archive holds no files of yours."]);
  });

  it("notices encryption", async () => {
    expect(await look(zip([{ name: "a.csv", encrypted: true }]))).toEqual(["The archive is encrypted; no worker could open it."]);
  });

  it("names the folder that wraps everything", async () => {
    const found = await look(zip([{ name: "shard/images/a.png" }, { name: "shard/labels/a.png" }]));
    expect(found).toEqual(["Everything lies in one folder, shard/; data_root will hold only that folder."]);
  });

  it("counts what Finder left, and does not take it for data", async () => {
    const found = await look(zip([{ name: "__MACOSX/._a" }, { name: ".DS_Store" }, { name: "a.csv" }]));
    expect(found).toEqual(["2 of 3 entries are left by the Mac's Finder or Windows; workers skip them."]);
  });

  it("finds the end before a comment", async () => {
    expect(await look(zip([{ name: "a.csv" }], { comment: "made by hand" }))).toEqual([]);
  });

  it("leaves a zip64 archive to the check after the upload", async () => {
    expect(await look(zip([{ name: "a.csv" }], { offset: 0xffffffff }))).toEqual([]);
  });
});

/** With the larger end record of a zip64 before the plain one, as archives of more than 65,535 files have it. */
function zip64(members: readonly Member[]): Uint8Array {
  const plain = zip(members, { offset: 0xffffffff });
  const [directory, end] = [plain.slice(0, -22), plain.slice(-22)];
  const [record, locator] = [new DataView(new ArrayBuffer(56)), new DataView(new ArrayBuffer(20))];
  record.setBigUint64(32, BigInt(members.length), true);
  record.setBigUint64(40, BigInt(directory.length), true);
  locator.setUint32(0, 0x07064b50, true);
  locator.setBigUint64(8, BigInt(directory.length), true);
  return new Uint8Array([...directory, ...new Uint8Array(record.buffer), ...new Uint8Array(locator.buffer), ...end]);
}

describe("the list of a zip", () => {
  const of = (bytes: Uint8Array) => listZip(bytes.length, async (start, end) => bytes.slice(start, end));
  const large = { name: "a.csv", encrypted: false, size: 0 };
  it("has every entry", async () => expect(await of(zip([{ name: "a.csv" }]))).toEqual([large]));
  it("is read from a zip64 too", async () => expect(await of(zip64([{ name: "a.csv" }]))).toEqual([large]));
  it("is none where the larger record is cut", async () => expect(await listZip(98, async (start, end) => zip64([]).slice(start, start === 0 && end === 56 ? 10 : end))).toBeNull());
  it("is none of what is no zip", async () => expect(await of(bytes("words"))).toBeNull());
  it("is none where its place is not told", async () => expect(await of(zip([{ name: "a" }], { offset: 0xffffffff }))).toBeNull());
  it("asks for what lies before the last bytes", async () => {
    const whole = zip(Array.from({ length: 2000 }, (_, at) => ({ name: `${at}.csv` })));
    const asked: number[] = [];
    const found = await listZip(whole.length, async (start, end) => (asked.push(end - start), whole.slice(start, end)));
    expect([found?.length, asked.length]).toEqual([2000, 2]);
  });
  it("does not know a size that only the zip64 field tells", async () => {
    const archive = zip([{ name: "a" }]);
    new DataView(archive.buffer).setUint32(24, 0xffffffff, true);
    expect((await of(archive))?.[0]?.size).toBeNull();
  });
});
