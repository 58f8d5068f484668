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

  it("are told apart by their entries, whatever these hold", () => {
    for (const entry of ["a", "b"]) stored.setItem(`tutti.draft.${entry}`, '{"id": "same", "launchToken": "t", "step": "name"}');
    expect(drafts.list().map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("are gone once removed", () => {
    drafts.save(draft);
    drafts.remove("d1");
    expect(drafts.list()).toEqual([]);
  });

  it("move to another browser by a file", () => {
    drafts.save(draft);
    const other = new Drafts(new Stored());
    expect([other.import(drafts.exported()), other.list()]).toEqual([{ taken: 1, kept: 0 }, [draft]]);
  });

  it("from a file replace none that was saved later", () => {
    drafts.save(draft);
    const file = drafts.exported();
    drafts.save({ ...draft, title: "typed since", savedAt: 6 });
    expect([drafts.import(file), drafts.get("d1")?.title]).toEqual([{ taken: 0, kept: 1 }, "typed since"]);
  });

  it.each([
    ['{"format": 2, "id": "odd", "launchToken": "t", "step": "name"}', /newer version/],
    ["{", /damaged/],
    ['{"id": "odd"}', /damaged/],
  ])("that cannot be opened say why: %s", (text, why) => {
    stored.setItem("tutti.draft.odd", text);
    stored.setItem("tutti.theme", "dark");
    expect(drafts.unreadable().map(({ id }) => id)).toEqual(["odd"]);
    expect(drafts.unreadable()[0]?.why).toMatch(why);
  });

  it("take into their file what cannot be opened, as it is", () => {
    drafts.save(draft);
    stored.setItem("tutti.draft.odd", "{");
    expect(JSON.parse(drafts.exported())).toMatchObject({ drafts: [{ id: "d1" }], unreadable: [{ id: "odd", text: "{" }] });
  });

  it.each(["not JSON", "{}", '{"drafts": [1]}', "null"])("are not taken from %s", (text) => {
    expect(() => drafts.import(text)).toThrow(/drafts/);
  });

  it("notice the changes of another tab", () => {
    expect(["tutti.draft.x", "tutti.theme", null].map((key) => drafts.concerns(key))).toEqual([true, false, true]);
  });

  it("keep edits of configs, and drop what is none", () => {
    const edit = { text: "{ }", base: "{}" };
    drafts.save({ ...draft, edits: { "configs/meta.json": edit, odd: null as never, half: { text: "x" } as never } });
    expect(drafts.get("d1")?.edits).toEqual({ "configs/meta.json": edit });
  });

  it("remember that Advanced was skipped", () => {
    drafts.save({ ...draft, skipped: true });
    expect(drafts.get("d1")?.skipped).toBe(true);
  });
});
