import { describe, expect, it } from "vitest";
import { folderFor, misfit, targetOf, uneven } from "../src/core/file_routing";

it.each([
  ["model_def.py", "scripts"],
  ["a.ZIP", "shards"],
  ["base.pt", "model"],
  ["photo.png", null],
  ["README", null],
])("%s belongs into %s", (name, folder) => expect(folderFor(name)).toBe(folder));

describe("a dropped file", () => {
  it.each([
    ["a.zip", null, "shards", "a.zip"],
    ["model_def.py", null, "scripts", "model_def.py"],
    ["photo.jpg", null, null, "photo.jpg"],
    ["photo.jpg", "shards", "shards", "photo.jpg"],
    ["my-job/scripts/net/blocks.py", null, "scripts", "net/blocks.py"],
    ["my-job/notes.json", null, "configs", "notes.json"],
    ["my-job/.git/config.json", null, null, "config.json"],
    ["my-job/scripts/__pycache__/a.py", null, null, "a.py"],
    ["data/b.zip", "shards", "shards", "b.zip"],
  ])("%s on %s goes to %s as %s", (path, card, folder, name) => expect(targetOf(path, card)).toEqual({ folder, name }));
});

describe("a file in a folder", () => {
  it.each([
    ["shards", "a.rar"],
    ["model", "a.pth"],
    ["scripts", "a.zip"],
    ["scripts", "Makefile"],
    ["requirements", "req.txt"],
    ["configs", "a.yaml"],
  ])("%s/%s is warned about", (folder, name) => expect(misfit(folder, name)?.what).toBeTruthy());
  it.each([
    ["shards", "a.ZIP"],
    ["model", "a.pt"],
    ["scripts", "a.py"],
    ["requirements", "requirements.txt"],
    ["configs", "a.json"],
    ["files_out", "x"],
  ])("%s/%s is fine", (folder, name) => expect(misfit(folder, name)).toBeNull());
});

it("shards of very unequal size are told", () => {
  expect([uneven([1, 10]), uneven([5, 8]), uneven([7]), uneven([]), uneven([0, 9])]).toEqual([10, null, null, null, null]);
});
