import { describe, expect, it } from "vitest";
import { above, fetchLines, isGuarded, lookOf, nameIn, nameProblem, noteOn, shellWord, tableOf, textOf } from "../src/core/files";

describe("the folders of a job", () => {
  it.each([["shards", "one zip per worker"], ["scripts", "your code"], ["toString", ""]])("tells what %s is for", (name, purpose) => expect(noteOn("jobs/a/", name)).toEqual({ purpose, meant: "" }));
  it.each([["script", "scripts"], ["Shard", "shards"], ["sharsd", "shards"], ["config", "configs"], ["models", "model"], ["files-out", "files_out"], ["dataset", "shards"], ["notes", ""], ["constructor", ""]])("%s is meant to be %j", (name, meant) => expect(noteOn("jobs/a/", name).meant).toBe(meant));
  it.each(["", "jobs/", "jobs/a/shards/"])("says nothing in %j", (prefix) => expect(noteOn(prefix, "shard")).toEqual({ purpose: "", meant: "" }));
});

it.each([["jobs/a/b.txt", "b.txt"], ["jobs/a/", "a"], ["a", "a"]])("the name in %j is %j", (key, name) => expect(nameIn(key)).toBe(name));
it.each([["jobs/a/", "jobs/"], ["jobs/", ""], ["", ""]])("above %j is %j", (prefix, up) => expect(above(prefix)).toBe(up));
it.each([[" ", "Type"], ["a/b", "slash"], ["..", "folder already"], [".", "folder already"], ["a\u0007", "printed"]])("%j is no name", (name, why) => expect(nameProblem(name)).toContain(why));
it("an odd name is a name", () => expect(nameProblem("a b+ü.zip")).toBe(""));
it("a key under a guarded folder is guarded", () => expect([isGuarded("jobs/a/shards/x", ["jobs/a/shards/"]), isGuarded("jobs/a/", ["jobs/a/shards/"])]).toEqual([true, false]));
it.each([["a.JSON", 1, "json"], ["a.tsv", 1, "table"], ["a.py", 1, "text"], ["a.png", 1, "image"], ["a.png", 3e7, "none"], ["a.zip", 9e9, "zip"], ["a.pt", 1, "none"]])("%s of %d bytes is looked at as %s", (key, size, look) => expect(lookOf(key, size)).toBe(look));
it("a character cut at the end is left out", () => expect(textOf(new TextEncoder().encode("aü").slice(0, 2))).toBe("a"));

describe("the head of a table", () => {
  it("reads quotes, doubled quotes, and lines inside them", () => expect(tableOf('a,b\r\n"1,5","say ""hi""\nthere"\n', false)).toEqual([["a", "b"], ["1,5", 'say "hi"\nthere']]));
  it.each([["a\tb\n1\t2", "\t"], ["a;b\n1;2", ";"]])("finds the separator of %j", (text) => expect(tableOf(text, false)).toEqual([["a", "b"], ["1", "2"]]));
  it("leaves out a last row that was cut", () => expect(tableOf("a,b\n1,2\n3,", true)).toEqual([["a", "b"], ["1", "2"]]));
  it("keeps a last row without a line end", () => expect(tableOf("a,b\n1,", false)).toEqual([["a", "b"], ["1", ""]]));
  it("ends at the most rows", () => expect(tableOf("a\nb\nc", false, 2)).toEqual([["a"], ["b"]]));
  it("of nothing is empty", () => expect(tableOf("", false)).toEqual([]));
});

describe("the lines that fetch a folder", () => {
  it.each([["jobs/a/", "jobs/a/"], ["it's", "'it'\\''s'"], ["-x", "'-x'"], ["a b", "'a b'"], ["$(rm)", "'$(rm)'"]])("%j is typed %s", (text, word) => expect(shellWord(text)).toBe(word));
  it("name the folder", () => expect(fetchLines("http://127.0.0.1:1", "jobs/a/", "b", "http://127.0.0.1:2")).toEqual({ tutti: "tutti login http://127.0.0.1:1\ntutti fetch jobs/a/ --out a", aws: "aws s3 cp --recursive --endpoint-url http://127.0.0.1:2 s3://b/jobs/a/ a" }));
  it("of the whole bucket", () => expect(fetchLines("https://t", "", "b", null)).toEqual({ tutti: "tutti login https://t\ntutti fetch --out b", aws: "aws s3 cp --recursive s3://b/ b" }));
});
