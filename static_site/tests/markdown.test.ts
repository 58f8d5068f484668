import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blocksOf, guideHref, idOf, inlineOf } from "../src/core/markdown";

const plain = (text: string) => [{ as: "text", text }];

describe("blocks", () => {
  it("are headings and paragraphs", () => expect(blocksOf("# A b!\nOne\ntwo\n\n## C\r\n")).toEqual([{ as: "heading", level: 1, id: "a-b", text: "A b!" }, { as: "paragraph", text: plain("One two") }, { as: "heading", level: 2, id: "c", text: "C" }]));
  it("keep code as it is", () => expect(blocksOf("```python\na  = 1\n\n# no heading\n```\nafter")).toEqual([{ as: "code", language: "python", text: "a  = 1\n\n# no heading" }, { as: "paragraph", text: plain("after") }]));
  it("keep code that never ends", () => expect(blocksOf("```\na")).toEqual([{ as: "code", language: "", text: "a" }]));
  it("are lists, whose lines go on", () => expect(blocksOf("- a\n  b\n- c\n\n1. d")).toEqual([{ as: "list", ordered: false, items: [plain("a b"), plain("c")] }, { as: "list", ordered: true, items: [plain("d")] }]));
  it("are tables", () => expect(blocksOf("| a | b |\n| --- | --- |\n| `c` | d |")).toEqual([{ as: "table", head: [plain("a"), plain("b")], rows: [[[{ as: "code", text: "c" }], plain("d")]] }]));
  it("begin code right after a paragraph", () => expect(blocksOf("a\n```\nb\n```").map(({ as }) => as)).toEqual(["paragraph", "code"]));
  it("take a hash without a space as text", () => expect(blocksOf("#a")).toEqual([{ as: "paragraph", text: plain("#a") }]));
});

it("a line has code, strong, emphasis and links", () =>
  expect(inlineOf("a `b` **c** *d* [e](f.md) g")).toEqual([{ as: "text", text: "a " }, { as: "code", text: "b" }, { as: "text", text: " " }, { as: "strong", text: "c" }, { as: "text", text: " " }, { as: "em", text: "d" }, { as: "text", text: " " }, { as: "link", text: "e", to: "f.md" }, { as: "text", text: " g" }]));
it("markup of other kinds is text", () => expect(inlineOf("<b>a</b>")).toEqual(plain("<b>a</b>")));
it("an address of a heading has words and hyphens", () => expect(idOf("What is refused, and `why`")).toBe("what-is-refused-and-why"));
it.each([["hardware.md", "#/help/hardware"], ["hardware.md#on-a-laptop", "#/help/hardware?at=on-a-laptop"], ["#a", "#/help/sharding?at=a"], ["https://x.org/a", "https://x.org/a"]])("%s leads to %s", (to, href) => expect(guideHref("sharding", to)).toBe(href));

const folder = new URL("../../docs/guides/", import.meta.url);
it.each(readdirSync(folder))("every heading of %s has an address of its own", (name) => {
  const ids = blocksOf(readFileSync(new URL(name, folder), "utf8")).flatMap((block) => (block.as === "heading" ? [block.id] : []));
  expect(ids.length).toBeGreaterThan(2);
  expect(new Set(ids).size).toBe(ids.length);
});
