import { beforeEach, describe, expect, it } from "vitest";
import { type Draft, Drafts } from "../src/core/drafts";

class Stored implements Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length"> {
  readonly entries = new Map<string, string>();
  get length(): number {
    return this.entries.size;
  }
  key = (index: number): string | null => Array.from(this.entries.keys())[index] ?? null;
  getItem = (key: string): string | null => this.entries.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.entries.set(key, value);
  removeItem = (key: string): void => void this.entries.delete(key);
}

const draft: Draft = { id: "d1", title: "Food", step: "model", savedAt: 5, values: { federation: { rounds: "7" } }, workspace: "food", etag: "e", generated: { "configs/meta.json": "{}" }, launchToken: "token-123" };

describe("drafts", () => {
  let stored: Stored;
  let drafts: Drafts;
  beforeEach(() => {
    stored = new Stored();
    drafts = new Drafts(stored);
  });

  it("come back as they were saved", () => {
    drafts.save(draft);
    expect(drafts.get("d1")).toEqual(draft);
  });

  it("are listed with the newest first", () => {
    drafts.save(draft);
    drafts.save({ ...draft, id: "d2", savedAt: 9 });
    expect(drafts.list().map(({ id }) => id)).toEqual(["d2", "d1"]);
  });

  it("leave alone what they cannot read", () => {
    for (const text of ["{", "null", '{"id": "x"}', '{"id": "x", "launchToken": "t", "step": "none"}']) {
      stored.setItem("tutti.draft.odd", text);
      expect([drafts.list(), drafts.get("odd")]).toEqual([[], null]);
    }
    expect(stored.entries.size).toBe(1);
  });

  it("fill in what an older site did not save", () => {
    stored.setItem("tutti.draft.old", '{"id": "old", "launchToken": "t", "step": "name"}');
    expect(drafts.get("old")).toMatchObject({ title: "", savedAt: 0, values: {}, workspace: null, etag: null, generated: {} });
  });

  it("are gone once removed", () => {
    drafts.save(draft);
    drafts.remove("d1");
    expect(drafts.list()).toEqual([]);
  });

  it("move to another browser by a file", () => {
    drafts.save(draft);
    const other = new Drafts(new Stored());
    expect([other.import(drafts.exported()), other.list()]).toEqual([1, [draft]]);
  });

  it.each(["not JSON", "{}", '{"drafts": [1]}', "null"])("are not taken from %s", (text) => {
    expect(() => drafts.import(text)).toThrow(/drafts/);
  });

  it("notice the changes of another tab", () => {
    expect(["tutti.draft.x", "tutti.theme", null].map((key) => drafts.concerns(key))).toEqual([true, false, true]);
  });
});
